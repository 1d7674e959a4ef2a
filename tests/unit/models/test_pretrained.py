"""Which weights and vocabulary a model's name means, that they are read alike, and what is refused."""

import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from support.published import PUBLISHED, TEXTS
from support.records import change_config
from transformers import AutoModel, AutoTokenizer

from finetune.errors import UserError
from finetune.models.encoder_size import EncoderSize, size_of
from finetune.models.model_folder import load_config, load_encoder
from finetune.models.pretrained import MINILM_SHA256, resolve
from finetune.models.tokenizers.load import load_fast_tokenizer, load_tokenizer

WHOLE, SAFE = "pytorch_model.bin", "model.safetensors"


@pytest.mark.parametrize("name", PUBLISHED)
def test_an_encoder_in_the_files_in_which_it_is_published_computes_as_in_transformers(
    name: str, tmp_path: Path
) -> None:
    published, folder = PUBLISHED[name], tmp_path / name
    published.write(folder)
    found = resolve(str(folder))
    tokenizer = load_tokenizer(found.folder)
    encoder, new = load_encoder(found.folder)
    assert not [weight for weight in new if "pooler" not in weight]
    encoded = tokenizer(list(TEXTS), return_tensors="pt", padding=True)
    assert encoded["input_ids"].max() < encoder.config.vocab_size
    assert (encoded["input_ids"] == tokenizer.unk_token_id).float().mean() < 0.05
    assert load_fast_tokenizer(found.folder)(list(TEXTS))["input_ids"] == tokenizer(list(TEXTS))["input_ids"]
    torch.manual_seed(0)  # the weights that `write` drew
    shell = published.kind(encoder.config).to(published.dtype).float().eval()
    inputs = {name: encoded[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        expected, computed = shell.base_model(**inputs)[0], encoder(**inputs)[0]
    assert torch.allclose(computed, expected, atol=1e-5)


@pytest.fixture
def published(tiny_bert: Path, tmp_path: Path) -> Path:
    """A copy of an encoder's folder with its weights in pytorch_model.bin."""
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "published"))
    torch.save(load_file(folder / SAFE), folder / WHOLE)
    (folder / SAFE).unlink()
    return folder


def test_weights_of_torch_save_are_the_encoder_of_the_same_in_safetensors(tiny_bert: Path, published: Path) -> None:
    safe, state = resolve(str(tiny_bert)), load_file(tiny_bert / SAFE)
    (published / "1_Pooling").mkdir()
    (published / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert (resolve(str(published)).folder / "1_Pooling" / "config.json").is_file()
    shutil.rmtree(published / "1_Pooling")
    found = resolve(str(published))
    assert (found.fingerprint, found.loadable) == (safe.fingerprint, str(published))
    assert_equal(load_encoder(found.folder)[0].state_dict(), load_encoder(safe.folder)[0].state_dict())
    torch.save(state, published / WHOLE, _use_new_zipfile_serialization=False)  # the format before zip
    assert_equal(load_file(resolve(str(published)).folder / SAFE), state)
    (published / WHOLE).unlink()
    for number, names in enumerate((sorted(state)[::2], sorted(state)[1::2]), start=1):
        torch.save({name: state[name] for name in names}, published / f"pytorch_model-0000{number}-of-00002.bin")
    assert_equal(load_file(resolve(str(published)).folder / SAFE), state)
    shutil.copy(tiny_bert / SAFE, published)  # which come first
    assert resolve(str(published)).folder == published


def assert_equal(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name].float(), expected[name].float()) for name in found)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("prefix", ["", "bert."])
def test_other_types_prefixes_and_old_names_are_read(published: Path, dtype: torch.dtype, prefix: str) -> None:
    state = torch.load(published / WHOLE, weights_only=True)
    old = {
        prefix + name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): tensor.to(dtype)
        for name, tensor in state.items()
    }
    decoder = {"cls.predictions.decoder.weight": old[f"{prefix}embeddings.word_embeddings.weight"]}  # tied: no copy
    torch.save(old | (decoder if prefix else {}), published / WHOLE)
    encoder, new = load_encoder(resolve(str(published)).folder)
    assert not new and {tensor.dtype for tensor in encoder.parameters()} == {torch.float32}
    assert_equal({name: encoder.state_dict()[name] for name in state}, {n: t.to(dtype) for n, t in state.items()})


class Code:
    """Would run a command if it were unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo run > ran",)


def compressed(file: Path) -> None:
    torch.save({"a": torch.zeros(1 << 20)}, file)
    with zipfile.ZipFile(file) as plain:
        parts = {name: plain.read(name) for name in plain.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, part in parts.items():
            packed.writestr(name, part)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda file: torch.save({"a": Code()}, file), "is not a file of weights alone"),
        (lambda file: file.write_bytes(pickle.dumps(Code())), "is not a file of weights alone"),
        (lambda file: torch.save({"a": np.zeros(2)}, file), "is not a file of weights alone"),
        (lambda file: torch.save({"model": {"a": torch.zeros(2)}}, file), "does not hold weights by their names"),
        (lambda file: torch.save({"a": torch.zeros(1).expand(1 << 40)}, file), "would take 4,398,046,511,104 bytes"),
        (compressed, ""),
        (lambda file: file.write_text("version https://git-lfs.github.com/spec/v1"), "is not read"),
    ],
)
def test_what_is_more_than_weights_is_refused_by_name(
    published: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], object], said: str
) -> None:
    monkeypatch.chdir(published)
    write(published / WHOLE)
    with pytest.raises(UserError) as caught:
        resolve(str(published))
    assert said in str(caught.value) and f"{published / WHOLE}: " in str(caught.value)
    assert "\n" not in str(caught.value) and not (published / "ran").exists()


@pytest.mark.parametrize(
    ("name", "tokenizer", "said"),
    [
        ("miniml", "", "Did you mean 'minilm'"),
        ("https://huggingface.co/klue/bert-base/tree/main?x=1", "", r"URL\. Give its name: model=klue/bert-base$"),
        ("new:4x250", "", r"250 is not divisible by 64.*new:4x256, or name .* heads .*: new:4x250xHEADS"),
        ("new:512x65536", "", "weights"),
        ("new:mini", "", r"needs a vocabulary.*`finetune tokenizer TEXTS -o vocabulary`.*tokenizer=vocabulary"),
        ("new:mini", "nowhere", "nowhere does not exist"),
        ("new:mini", "broken/tokenizer.json", "cannot be loaded"),
        ("minilm", "empty", "which has its own vocabulary. Leave tokenizer out"),
    ],
)
def test_a_wrong_name_is_one_line_that_leads_to_the_right_one(
    name: str, tokenizer: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("broken").mkdir()
    Path("broken/tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=said) as error:
        resolve(name, tokenizer=tokenizer)
    assert "\n" not in str(error.value)


def test_minilm_is_what_was_published(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve("minilm").loadable == str(minilm)
    monkeypatch.setattr("finetune.models.pretrained.MINILM_SHA256", MINILM_SHA256[::-1])
    with pytest.raises(UserError, match=f"its sha256 is {MINILM_SHA256}, not the published"):
        resolve("minilm")


def spare(folder: Path) -> None:
    change_config(folder, _name_or_path="elsewhere", transformers_version="4.0.0", dtype="float16")
    save_file(load_file(folder / SAFE), folder / SAFE, metadata={"format": "np", "a": "b"})
    for name in ("README.md", "vocab.txt", "vocab.json", "merges.txt"):
        (folder / name).write_text("spare")


def moved(folder: Path) -> None:
    weights = load_file(folder / SAFE)
    next(iter(weights.values())).view(-1)[0] += 1e-3
    save_file(weights, folder / SAFE, {"format": "pt"})


def replaced(name: str, old: str, new: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text((folder / name).read_text().replace(old, new))


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (spare, True),
        (moved, False),
        (replaced("config.json", "1e-12", "1e-05"), False),
        (replaced("tokenizer.json", "[MASK]", "[MARK]"), False),
    ],
)
def test_what_decides_changes_the_fingerprint_and_nothing_else_does(
    change: Callable[[Path], Any], same: bool, tiny_bert: Path, tmp_path: Path
) -> None:
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    AutoModel.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    before = resolve(str(tmp_path)).fingerprint
    change(tmp_path)
    assert (resolve(str(tmp_path)).fingerprint == before) == same


def test_an_untrained_encoder_is_of_its_size_and_the_vocabulary_wherever_it_is(
    tiny_bert: Path, tiny_roberta: Path, tmp_path: Path
) -> None:
    for folder in (tiny_bert, tiny_roberta):
        files = resolve("new:1x64", tokenizer=str(folder))
        ours, theirs = load_tokenizer(files.folder), AutoTokenizer.from_pretrained(folder)
        assert ours("the cat sat", "on a house")["input_ids"] == theirs("the cat sat", "on a house")["input_ids"]
        config = load_config(files.folder)
        assert (config.vocab_size, config.pad_token_id) == (len(theirs), theirs.pad_token_id)
    assert size_of("new:large") == EncoderSize(layers=24, width=1024, heads=16)
    assert size_of("new:1x30x5") == EncoderSize(layers=1, width=30, heads=5)
    copy = Path(shutil.copytree(tiny_bert, tmp_path / "copy"))
    (copy / SAFE).unlink()  # what is not the tokenizer's does not count
    one = resolve("new:mini", tokenizer=str(tiny_bert))
    assert resolve("new:mini", tokenizer=str(copy)) == one
    assert resolve("new:4x256", tokenizer=str(copy)).fingerprint == one.fingerprint
    assert resolve("new:tiny", tokenizer=str(copy)).fingerprint != one.fingerprint
    (copy / "vocab.txt").write_text((copy / "vocab.txt").read_text() + "\nwombat")
    assert resolve("new:mini", tokenizer=str(copy)).fingerprint != one.fingerprint
