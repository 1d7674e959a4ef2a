"""A stranger's encoder or model folder: one line of error, or a model; never a traceback or gigabytes."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.cli import Finetune, assert_error
from support.fuzzed_folders import fuzz_model_folders
from support.runs import FinishedRun
from support.toys import cat_task
from support.training import CPU

from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.models.building import build_model
from finetune.models.model_folder import load_config, load_encoder, load_trained
from finetune.models.pretrained import resolve
from finetune.models.tokenizers.load import load_fast_tokenizer, load_tokenizer
from finetune.runs.recipe import Recipe

Change = Callable[[Path], None]
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


def config(**values: Any) -> Change:
    return lambda folder: merge(folder / "config.json", values)


def merge(file: Path, values: dict[str, Any]) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def content(name: str, written: str | bytes) -> Change:
    return lambda folder: void((folder / name).write_bytes(written if isinstance(written, bytes) else written.encode()))


def void(_: Any) -> None:
    """Makes an expression a statement."""


def cut(name: str, size: int) -> Change:
    return lambda folder: void((folder / name).write_bytes((folder / name).read_bytes()[:size]))


def flipped(place: int) -> Change:
    def change(folder: Path) -> None:
        damaged = bytearray((folder / WEIGHTS).read_bytes())
        damaged[place] ^= 0xFF
        (folder / WEIGHTS).write_bytes(damaged)

    return change


def sharded(where: Any) -> Change:
    def change(folder: Path) -> None:
        names = dict.fromkeys(load_file(folder / WEIGHTS), where)
        (folder / WEIGHTS).rename(folder / "model-1.safetensors")
        (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": names}))

    return change


def pickled(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    torch.save({}, folder / "pytorch_model.bin")


def fifo(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return change


def more_words(folder: Path) -> None:
    with (folder / "vocab.txt").open("a") as file:
        file.write("\nmore\nwords")


CONFIGS: dict[str, Change] = {
    "no heads": config(num_attention_heads=0),
    "heads that do not divide": config(num_attention_heads=3),
    "many thin layers": config(num_hidden_layers=10**6, hidden_size=1, num_attention_heads=1, intermediate_size=1),
    "width 10**9": config(hidden_size=10**9),
    "width 0": config(hidden_size=0),
    "wide": config(hidden_size=65_536),
    "vocabulary 10**12": config(vocab_size=10**12),
    "smaller vocabulary": config(vocab_size=50),
    "10**9 labels": config(num_labels=10**9),
    "padding beyond the vocabulary": config(pad_token_id=9_999),
    "padding below 0": config(pad_token_id=-1),
    "dtype": config(dtype="nonsense"),
    "activation": config(hidden_act="evil"),
    "unknown type": config(model_type="evil"),
    "no type": config(model_type=None),
    "dropout 2": config(hidden_dropout_prob=2),
    "dropout NaN": config(hidden_dropout_prob=float("nan")),
    "epsilon NaN": config(layer_norm_eps=float("nan")),
    "quantized": config(quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True}),
    "architectures": config(architectures=[0.5]),
    "labels with gaps": config(id2label={"0": "a", "5": "b"}),
    "not JSON": content("config.json", "{"),
    "a list": content("config.json", "[]"),
    "deep": content("config.json", '{"a":' * 100_000 + "1" + "}" * 100_000),
    "not UTF-8": content("config.json", b"\xff\xfe{}"),
    "adapter": content("adapter_config.json", "{}"),
}
SHARED: dict[str, Change] = {  # of ALBERT, whose layers share their weights
    "no groups": config(num_hidden_groups=0),
    "many groups": config(num_hidden_groups=10**6),
    "no layers in a group": config(inner_group_num=0),
    "wide embeddings": config(embedding_size=10**9),
}
FILES: dict[str, Change] = {
    "cut": cut(WEIGHTS, 5_000),
    "no bytes": cut(WEIGHTS, 0),
    "header": flipped(20),
    "no weights": lambda folder: (folder / WEIGHTS).unlink(),
    "a pickle": pickled,
    "shard elsewhere": sharded("/dev/zero"),
    "shard pickle": sharded("pytorch_model.bin"),
    "index": content(INDEX, "[]"),
    "config that is a pipe": fifo("config.json"),
}
TOKENIZERS: dict[str, Change] = {
    "no vocabulary": content("vocab.txt", ""),
    "corrupt": content("tokenizer.json", '{"x'),
    "settings": content("tokenizer_config.json", "{"),
    "class": content("tokenizer_config.json", '{"tokenizer_class": "evil.Evil"}'),
    "no padding": lambda folder: merge(folder / "tokenizer_config.json", {"pad_token": None}),
    "length": lambda folder: merge(folder / "tokenizer_config.json", {"model_max_length": "x"}),
    "more words than the model": more_words,
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


@pytest.mark.parametrize("change", [*CONFIGS.values(), *FILES.values()], ids=[*CONFIGS, *FILES])
def test_an_odd_encoder_is_refused_in_one_line(change: Change, tiny_bert: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "encoder")
    change(folder)
    assert_refused(lambda: build(folder))


@pytest.mark.parametrize("change", SHARED.values(), ids=SHARED)
def test_odd_shared_layers_are_refused_in_one_line(change: Change, tiny_albert: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_albert, tmp_path / "encoder")
    change(folder)
    assert_refused(lambda: build(folder))


@pytest.mark.parametrize("change", TOKENIZERS.values(), ids=TOKENIZERS)
def test_an_odd_tokenizer_is_refused_in_one_line(change: Change, tiny_bert: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "encoder")
    change(folder)
    assert_refused(lambda: load_tokenizer(folder))
    assert_refused(lambda: load_fast_tokenizer(folder))


def test_what_a_config_sets_for_other_uses_changes_nothing(tiny_bert: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "encoder")
    merge(
        folder / "config.json",
        {
            **{"return_dict": False, "output_hidden_states": True, "chunk_size_feed_forward": 3},
            **{"attn_implementation": "a/kernel", "_attn_implementation": "a/kernel", "experts_implementation": "a/b"},
            **{"use_kernels": True, "kernel_config": {"x": "a/b:c"}, "transformers_weights": "../other.safetensors"},
        },
    )
    inputs = load_tokenizer(tiny_bert)(["the cat sat"], return_tensors="pt")
    found = []
    for place in (tiny_bert, folder):
        model, _ = build_model(place, cat_task().head, Recipe(task="any", seed=0), device=CPU)
        with torch.no_grad():
            found.append(model.eval()(inputs["input_ids"], inputs["attention_mask"]))
    assert torch.equal(*found)


@pytest.mark.parametrize("change", ["cut", "header", "no bytes"])
def test_every_command_says_so(change: str, tiny_bert: Path, copied_run: FinishedRun, here: Finetune) -> None:
    run = copied_run("sentence")
    data = run.parents[2] / "reviews.csv"
    data.write_text("review,mark\nthe cat sat,good\nthe dog sat,bad\n" * 20)
    encoder = shutil.copytree(tiny_bert, run.parents[2] / "encoder")
    FILES[change](encoder)
    FILES[change](run / "model")
    for command in (
        ["run", data, f"model={encoder}"],
        ["features", encoder, data, "-o", "a.npz"],
        ["predict", run, data],
        ["evaluate", run, data],
    ):
        done = here(*command)
        assert done.returncode == 2, command
        assert_error(done.stderr)


@pytest.mark.parametrize(
    "saved",
    [
        {"max_length": "x"},
        {"max_length": 10**12},
        {"layers": 5},
        {"layers": [99]},
        {"options": []},
        {"task": 5},
        {"layout": {"shape": "evil", "text": ["review"]}},
        {"layout": {"shape": "classification", "text": ["review"], "labels": "x", "new": 1}},
        [],
    ],
    ids=str,
)
def test_odd_settings_of_a_model_are_refused(saved: Any, copied_run: FinishedRun) -> None:
    model = copied_run("sentence") / "model"
    (model / "checksums.json").unlink()  # whoever writes odd settings writes their checksum too
    before = load_config(model).finetune
    merge(model / "config.json", {"finetune": before | saved if isinstance(saved, dict) else saved or [1]})
    assert_refused(lambda: load_predictor(model, device="cpu"))


def test_nan_weights_give_no_answers(copied_run: FinishedRun) -> None:
    model = copied_run("sentence") / "model"
    (model / "checksums.json").unlink()  # whoever writes odd settings writes their checksum too
    weights = load_file(model / WEIGHTS)
    save_file({name: tensor * float("nan") for name, tensor in weights.items()}, model / WEIGHTS, {"format": "pt"})
    predictor = load_predictor(model, device="cpu")
    assert_refused(lambda: predictor("the cat sat"))


def test_a_model_without_a_head_is_refused_briefly(tiny_bert: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "encoder")
    merge(folder / "config.json", {"num_hidden_layers": 5})
    assert_refused(lambda: load_trained(folder, cat_task().head))


def test_damaged_folders_end_in_one_line(finished_run: FinishedRun, tiny_bert: Path, tmp_path: Path) -> None:
    model = finished_run("sentence") / "model"
    found = fuzz_model_folders(60, seed=0, folder=tmp_path, encoder=tiny_bert, model=model)
    assert (found.tried, found.survived) == (60, 60)
    assert found.refused > 20
    assert found.accepted > 3


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"model_type": "nomic_bert", "hidden_size": None, "auto_map": {"AutoConfig": "a.NomicBertConfig"}},
            "NomicBertConfig",
        ),
        ({"auto_map": {"AutoConfig": "configuration_bert.JinaBertConfig"}}, "Name an encoder, or a copy"),
        ({"auto_map": {"AutoModel": "modeling.MyBert"}}, r"\(modeling.MyBert\), which is never run"),
        ({"auto_map": {"AutoModel": ["x", 5]}}, "which is never run"),
        ({"auto_map": ["configuration.NewConfig"]}, "auto_map is"),
    ],
)
def test_an_encoder_that_its_own_code_computes_is_refused(
    tiny_bert: Path, tmp_path: Path, values: dict[str, Any], said: str
) -> None:
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "model"))
    config(**values)(folder)
    if values.get("hidden_size", 0) is None:
        table = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({k: v for k, v in table.items() if k != "hidden_size"}))
    with pytest.raises(UserError, match=said):
        load_config(folder)


def test_code_that_transformers_has_taken_over_or_of_a_head_is_not_missed(tiny_bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "model"))
    for code in ({"AutoConfig": "x.BertConfig"}, {"AutoModelForSequenceClassification": "x.Head"}, {}):
        config(auto_map=code)(folder)
        assert load_encoder(folder)[1] == []
