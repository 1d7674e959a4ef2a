"""Untrained encoders: sizes, weights by seed, and all that a vocabulary decides."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from support.cli import Finetune, assert_error
from support.toys import cat_task, tag_task
from support.training import CPU
from transformers import AutoTokenizer, BertModel

from finetune.errors import UserError
from finetune.models import pretrained
from finetune.models.building import build_model
from finetune.models.encoder_size import EncoderSize, size_of
from finetune.models.model_folder import load_config, load_trained, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.runs.resolve import run_id


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def built(name: str, tokenizer: Path, *, seed: int = 0, train: Train | None = None) -> torch.nn.Module:
    recipe = Recipe(task="any", model=name, tokenizer=str(tokenizer), init_seed=seed, train=train or Train())
    weights = pretrained.resolve(name, tokenizer=str(tokenizer))
    model, _ = build_model(weights.folder, cat_task().head, recipe, device=CPU)
    return model


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("new:tiny", (2, 128, 2)),
        ("new:mini", (4, 256, 4)),
        ("new:large", (24, 1024, 16)),
        ("new:4x256", (4, 256, 4)),
        ("new:6x768x3", (6, 768, 3)),
        ("new:1x30x5", (1, 30, 5)),
    ],
)
def test_a_name_gives_layers_width_and_heads(name: str, size: tuple[int, int, int]) -> None:
    assert size_of(name) == EncoderSize(layers=size[0], width=size[1], heads=size[2])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("new:4x250", r"250 is not divisible by 64.*new:4x256, or name .* heads .*: new:4x250xHEADS"),
        ("new:4x250x3", "250 is not divisible by 3"),
        ("new:2x0", "0 is not divisible"),
        ("new:2x64x0", "64 is not divisible by 0"),
        ("new:2x0x3", "0 is not divisible by 3"),
        ("new:minni", "no size 'minni'. Did you mean 'mini'"),
        ("new:", "no size ''.*tiny, mini, small"),
        ("new:4x256x4x1", "no size"),
        ("new:-4x256", "no size"),
        ("new:512x65536", "weights"),
        ("new:4x" + "9" * 4_000, "no size"),
    ],
)
def test_a_bad_size_is_one_line(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        size_of(name)
    assert "\n" not in str(error.value)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tiny_bert: Path) -> None:
    one, same, other = (built("new:2x32x2", tiny_bert, seed=seed) for seed in (1, 1, 2))
    for (name, first), second, third in zip(one.named_parameters(), same.parameters(), other.parameters(), strict=True):
        assert torch.equal(first, second)
        constant = name.endswith(".bias") or "LayerNorm" in name
        assert torch.equal(first, third) == constant, name


def test_weights_begin_as_in_the_original_code(tiny_bert: Path) -> None:
    encoder = built("new:1x768", tiny_bert).backbone.encoder
    words = encoder.embeddings.word_embeddings.weight
    assert words[0].abs().max() == 0  # the padding token
    assert 0.035 < words.abs().max() <= 0.04
    dense = encoder.encoder.layer[0].intermediate.dense
    assert float(dense.weight.detach().std()) == pytest.approx(
        0.0176, abs=5e-4
    )  # of a normal 0.02 cut at two deviations
    assert dense.weight.abs().max() <= 0.04
    assert dense.bias.abs().max() == 0
    norm = encoder.encoder.layer[0].output.LayerNorm
    assert torch.equal(norm.weight, torch.ones(768)) and norm.bias.abs().max() == 0


def test_its_vocabulary_is_that_of_the_tokenizer(tiny_roberta: Path, tiny_bert: Path) -> None:
    for folder in (tiny_bert, tiny_roberta):
        files = pretrained.resolve("new:1x32x1", tokenizer=str(folder))
        ours, theirs = load_tokenizer(files.folder), AutoTokenizer.from_pretrained(folder)
        assert ours("the cat sat", "on a house")["input_ids"] == theirs("the cat sat", "on a house")["input_ids"]
        config = load_config(files.folder)
        assert (config.vocab_size, config.pad_token_id) == (len(theirs), theirs.pad_token_id)


def test_the_fingerprint_is_of_size_and_vocabulary_wherever_it_is(tiny_bert: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(tiny_bert, tmp_path / "copy"))
    (copy / "model.safetensors").unlink()  # what is not the tokenizer's does not count
    one, same = (pretrained.resolve("new:mini", tokenizer=str(folder)) for folder in (tiny_bert, copy))
    assert one == same
    assert pretrained.resolve("new:4x256", tokenizer=str(copy)).fingerprint == one.fingerprint
    assert pretrained.resolve("new:tiny", tokenizer=str(copy)).fingerprint != one.fingerprint
    (copy / "vocab.txt").write_text((copy / "vocab.txt").read_text() + "\nwombat")
    assert pretrained.resolve("new:mini", tokenizer=str(copy)).fingerprint != one.fingerprint


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize("damage", [b"", b"{", None])
def test_a_damaged_entry_of_the_cache_is_made_again(tiny_bert: Path, name: str, damage: bytes | None) -> None:
    resolved = pretrained.resolve("new:1x64", tokenizer=str(tiny_bert))
    file = resolved.folder / name
    content = file.read_bytes()
    file.write_bytes(content.replace(b"64", b"32").replace(b"[MASK]", b"[MUSK]") if damage is None else damage)
    again = pretrained.resolve("new:1x64", tokenizer=str(tiny_bert))
    assert again.fingerprint == resolved.fingerprint
    assert file.read_bytes() == content


def test_a_run_s_id_leaves_out_where_the_vocabulary_is() -> None:
    facts = {"task": "any", "version": 1, "data": "d", "weights": "w", "precision": "fp32"}
    ids = {run_id(Recipe(task="any", model="new:mini", tokenizer=given, seed=1), **facts) for given in ("", "a", "b")}
    assert ids == {run_id(Recipe(task="any", seed=1), **facts)} == {"6a68a7fe53"}


@pytest.mark.parametrize("task", [cat_task(), tag_task()], ids=lambda task: task.name)
def test_a_model_that_began_untrained_is_saved_and_loaded_like_any_other(
    task: object, tiny_bert: Path, tmp_path: Path
) -> None:
    recipe = Recipe(task="any", model="new:2x32x2", tokenizer=str(tiny_bert), seed=0)
    files = pretrained.resolve(recipe.model, tokenizer=recipe.tokenizer)
    model, new = build_model(files.folder, task.head, recipe, device=CPU)  # type: ignore[attr-defined]
    assert new == ["embeddings", "encoder", *["pooler"] * (task.name == cat_task().name)]  # type: ignore[attr-defined]
    save_checkpoint(model, tmp_path / "model", load_tokenizer(files.folder), {"max_length": 9})
    again = load_trained(tmp_path / "model", task.head)  # type: ignore[attr-defined]
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    settings = json.loads((tmp_path / "model" / "config.json").read_text())
    assert settings["hidden_dropout_prob"] == settings["attention_probs_dropout_prob"] == 0.1
    _, info = BertModel.from_pretrained(tmp_path / "model", output_loading_info=True)
    assert {name for name in info["missing_keys"] if not name.startswith("pooler")} == set()


@pytest.mark.parametrize(
    ("model", "tokenizer", "message"),
    [
        ("new:mini", "", r"needs a vocabulary.*`finetune tokenizer TEXTS -o vocabulary`.*tokenizer=vocabulary"),
        ("new:mini", "nowhere", "nowhere does not exist"),
        ("new:mini", "empty", "has no tokenizer"),
        ("new:mini", "broken", "cannot be loaded"),
        ("new:mini", "broken/tokenizer.json", "cannot be loaded"),
        ("minilm", "empty", "which has its own vocabulary. Leave tokenizer out"),
    ],
)
def test_a_vocabulary_that_is_missing_or_too_much_is_one_line(
    model: str, tokenizer: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("broken").mkdir()
    Path("broken/tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=message) as error:
        pretrained.resolve(model, tokenizer=tokenizer)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("setting", [{"frozen": True}, {"lora": 4}, {"freeze_layers": 1}])
def test_random_weights_are_not_frozen(setting: dict[str, int], tiny_bert: Path) -> None:
    recipe = Recipe(task="any", model="new:1x32x1", tokenizer=str(tiny_bert), **setting)  # type: ignore[arg-type]
    folder = pretrained.resolve(recipe.model, tokenizer=recipe.tokenizer).folder
    with pytest.raises(UserError, match=f"{next(iter(setting))} with model 'new:1x32x1'.*random"):
        build_model(folder, cat_task().head, recipe, device=CPU)


def test_a_missing_vocabulary_is_found_before_the_data_is_read(here: Finetune, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("text,first,second\n" + "a cat,a,b\na dog,b,a\nan owl,a,a\n" * 9)
    assert_error(here("run", "two.csv").stderr, "two columns could be the label")
    done = here("run", "two.csv", "model=new:2x64")
    assert_error(done.stderr, "needs a vocabulary", "`finetune tokenizer two.csv -o vocabulary`")
