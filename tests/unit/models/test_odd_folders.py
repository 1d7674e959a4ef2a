"""A stranger's encoder or model folder: one line of error, or a model; never a traceback or gigabytes."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from support.records import change_config
from support.runs import FinishedRun
from support.toys import cat_task
from support.training import CPU
from transformers import GPT2Config, T5Config, XLNetConfig

from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.models.building import build_model, load_backbone
from finetune.models.model_folder import load_config
from finetune.models.pretrained import resolve
from finetune.models.tokenizers.load import load_fast_tokenizer, load_tokenizer
from finetune.runs.recipe import Recipe

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
VALUES: dict[str, tuple[Any, ...]] = {
    "num_attention_heads": (0, 3),  # of a width of 32
    "hidden_size": (0, 10**9),
    "vocab_size": (50,),
    "pad_token_id": (-1, 9_999),
    "dtype": ("nonsense",),
    "model_type": ("evil", None),
    "hidden_dropout_prob": (2, float("nan")),
    "quantization_config": ({"quant_method": "bitsandbytes", "load_in_8bit": True},),
    "id2label": ({"0": "a", "5": "b"},),
}
OF_ALBERT: dict[str, tuple[Any, ...]] = {  # whose layers share their weights
    "num_hidden_groups": (0, 10**6),
    "embedding_size": (10**9,),
}
MANY_LAYERS = {"num_hidden_layers": 10**6, "hidden_size": 1, "num_attention_heads": 1, "intermediate_size": 1}
CONFIGS = [
    ("bert", MANY_LAYERS),
    *(("bert", {name: value}) for name, values in VALUES.items() for value in values),
    *(("albert", {name: value}) for name, values in OF_ALBERT.items() for value in values),
]
CONTENTS: list[tuple[str, bytes]] = [
    ("config.json", b"{"),
    ("config.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    ("adapter_config.json", b"{}"),
    (INDEX, b"[]"),
    ("vocab.txt", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + b"".join(b"w%d\n" % n for n in range(500))),
    ("tokenizer.json", b'{"x'),
    ("tokenizer_config.json", b'{"tokenizer_class": "evil.Evil"}'),
    ("tokenizer_config.json", b'{"tokenizer_class": "BertTokenizer", "model_max_length": "x"}'),
]


def a_pipe(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


def flipped(folder: Path) -> None:
    damaged = bytearray((folder / WEIGHTS).read_bytes())
    damaged[20] ^= 0xFF
    (folder / WEIGHTS).write_bytes(damaged)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "cut": lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:5_000]),
    "header": flipped,
    "no weights": lambda folder: (folder / WEIGHTS).unlink(),
    "shards elsewhere": lambda folder: (folder / INDEX).write_text('{"weight_map": {"x": "/dev/zero"}}'),
    "a pipe": a_pipe,
}


def assert_refused(use: Callable[[], Any]) -> None:
    with pytest.raises(UserError) as error:
        use()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1_000


def build(folder: Path) -> None:
    resolve(str(folder))
    load_tokenizer(folder)
    build_model(folder, cat_task().head, Recipe(task="any", seed=0), device=CPU)


@pytest.fixture
def encoder(tiny_bert: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bert, tmp_path / "encoder"))


@pytest.mark.parametrize(("family", "values"), CONFIGS, ids=str)
def test_an_odd_config_is_refused_in_one_line(
    family: str, values: dict[str, Any], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(request.getfixturevalue(f"tiny_{family}"), tmp_path / "encoder"))
    change_config(folder, **values)
    assert_refused(lambda: build(folder))


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_weights_are_refused_in_one_line(damage: str, encoder: Path) -> None:
    DAMAGES[damage](encoder)
    assert_refused(lambda: build(encoder))


@pytest.mark.parametrize(("name", "content"), CONTENTS, ids=lambda given: str(given[:60]))
def test_an_odd_file_is_refused_in_one_line(name: str, content: bytes, encoder: Path) -> None:
    (encoder / name).write_bytes(content)
    assert_refused(lambda: build(encoder))
    if name.startswith(("vocab", "tokenizer")):
        assert_refused(lambda: load_fast_tokenizer(encoder))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"model_type": "nomic_bert", "hidden_size": None, "auto_map": {"AutoConfig": "a.NomicBertConfig"}}, "Nomic"),
        ({"auto_map": {"AutoConfig": "configuration_bert.JinaBertConfig"}}, "Name an encoder, or a copy"),
        ({"auto_map": {"AutoModel": "modeling.MyBert"}}, r"\(modeling.MyBert\), which is never run"),
        ({"auto_map": ["configuration.NewConfig"]}, "auto_map is"),
        *((kind(vocab_size=9).to_dict(), kind.model_type) for kind in (GPT2Config, T5Config, XLNetConfig)),
    ],
)
def test_what_is_no_encoder_or_computed_by_its_own_code_is_refused_by_name(
    encoder: Path, values: dict[str, Any], said: str
) -> None:
    table = json.loads((encoder / "config.json").read_text()) | values
    kept = {name: value for name, value in table.items() if value is not None or name not in values}
    (encoder / "config.json").write_text(json.dumps(kept))
    with pytest.raises(UserError, match=said):
        load_backbone(encoder, Recipe(task="any"))


@pytest.fixture
def unchecked(copied_run: FinishedRun) -> Path:
    """A model whose checksums are gone: whoever writes odd settings writes their checksum too."""
    model = copied_run("sentence") / "model"
    (model / "checksums.json").unlink()
    return model


@pytest.mark.parametrize(
    "saved",
    [
        {"max_length": "x"},
        {"layers": [99]},
        {"layout": {"shape": "evil", "text": ["review"]}},
        {"pooling": "median"},
        [1],
    ],
    ids=str,
)
def test_odd_settings_of_a_model_are_refused(saved: Any, unchecked: Path) -> None:
    before = load_config(unchecked).finetune
    change_config(unchecked, finetune=before | saved if isinstance(saved, dict) else saved)
    assert_refused(lambda: load_predictor(unchecked, device="cpu"))


def test_nan_weights_give_no_answers(unchecked: Path) -> None:
    weights = {name: tensor * float("nan") for name, tensor in load_file(unchecked / WEIGHTS).items()}
    save_file(weights, unchecked / WEIGHTS, {"format": "pt"})
    predictor = load_predictor(unchecked, device="cpu")
    assert_refused(lambda: predictor("the cat sat"))
