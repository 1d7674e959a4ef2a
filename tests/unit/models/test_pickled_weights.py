"""Weights that torch.save wrote: the encoder is the one of its safetensors, and nothing but weights is read."""

import json
import os
import pickle
import shutil
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from finetune.errors import UserError
from finetune.models import fingerprint
from finetune.models.model_folder import load_encoder
from finetune.models.pretrained import resolve

WHOLE = "pytorch_model.bin"
State = dict[str, Any]


@pytest.fixture
def published(tiny_bert: Path, tmp_path: Path) -> Path:
    """A copy of an encoder's folder with its weights in pytorch_model.bin."""
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "published"))
    torch.save(OrderedDict(_take_weights(folder)), folder / WHOLE)
    return folder


def test_it_is_the_encoder_of_the_same_weights_in_safetensors(tiny_bert: Path, published: Path) -> None:
    found, safe = resolve(str(published)), resolve(str(tiny_bert))
    assert found.fingerprint == safe.fingerprint
    assert found.loadable == str(published)
    assert found.folder.name.startswith("published-")  # in messages
    _assert_equal(load_encoder(found.folder)[0].state_dict(), load_encoder(safe.folder)[0].state_dict())


def test_it_is_converted_once(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = resolve(str(published))
    monkeypatch.setattr(fingerprint, "_state", _never)
    assert resolve(str(published)) == first
    settings = published / "config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"hidden_dropout_prob": 0.3}))
    with pytest.raises(AssertionError):
        resolve(str(published))


def test_weights_in_safetensors_come_first(tiny_bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "both"))
    (folder / WHOLE).write_text("not read")
    assert resolve(str(folder)).folder == folder
    assert resolve(str(folder)).fingerprint == resolve(str(tiny_bert)).fingerprint


def test_shards_are_converted_into_one_file(tiny_bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "shards"))
    state = _take_weights(folder)
    names = sorted(state)
    where = {}
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        file = f"pytorch_model-0000{number}-of-00002.bin"
        torch.save({name: state[name] for name in part}, folder / file)
        where |= dict.fromkeys(part, file)
    index = folder / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": where}))
    encoder, new = load_encoder(resolve(str(folder)).folder)
    assert not new
    _assert_equal({name: tensor for name, tensor in encoder.state_dict().items() if name in state}, state)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("prefix", ["", "bert."])
def test_other_types_prefixes_and_old_names_are_read(published: Path, dtype: torch.dtype, prefix: str) -> None:
    state = torch.load(published / WHOLE, weights_only=True)
    old = {
        prefix + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): (
            tensor.to(dtype)
        )
        for name, tensor in state.items()
    }
    decoder = {"cls.predictions.decoder.weight": old[f"{prefix}embeddings.word_embeddings.weight"]}  # tied: no copy
    torch.save(old | (decoder if prefix else {}), published / WHOLE)
    encoder, new = load_encoder(resolve(str(published)).folder)
    assert not new and {tensor.dtype for tensor in encoder.parameters()} == {torch.float32}
    _assert_equal({name: encoder.state_dict()[name] for name in state}, {n: t.to(dtype) for n, t in state.items()})


def test_the_format_before_zip_is_read(published: Path) -> None:
    state = torch.load(published / WHOLE, weights_only=True)
    torch.save(state, published / WHOLE, _use_new_zipfile_serialization=False)
    _assert_equal(load_file(resolve(str(published)).folder / "model.safetensors"), state)


def test_the_pooling_of_sentence_transformers_is_kept(published: Path) -> None:
    (published / "1_Pooling").mkdir()
    (published / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    read = resolve(str(published)).folder
    assert (read / "1_Pooling" / "config.json").is_file()


class Code:
    """Would run a command if it were unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo run > ran",)


def _saved(content: Any) -> Callable[[Path], object]:
    return lambda file: torch.save(content, file)


def _compressed(file: Path) -> None:
    torch.save({"a": torch.zeros(1 << 20)}, file)
    with zipfile.ZipFile(file) as plain:
        parts = {name: plain.read(name) for name in plain.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, part in parts.items():
            packed.writestr(name, part)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (_saved({"a": Code()}), "is not a file of weights alone"),
        (lambda file: file.write_bytes(pickle.dumps(Code())), "is not a file of weights alone"),
        (_saved({"a": np.zeros(2)}), "is not a file of weights alone"),
        (_saved({"model": {"a": torch.zeros(2)}}), "does not hold weights by their names"),
        (_saved([torch.zeros(2)]), "does not hold weights by their names"),
        (_saved({}), "does not hold weights by their names"),
        (_saved({"a": torch.zeros(2).to_sparse()}), "does not hold weights by their names"),
        (_saved({"a": torch.zeros(1).expand(1 << 40)}), "its weights would take 4,398,046,511,104 bytes"),
        (_compressed, ""),
        (lambda file: file.write_bytes(file.read_bytes()[:-200]), "is not read"),
        (lambda file: file.write_text("version https://git-lfs.github.com/spec/v1"), "is not read"),
        (lambda file: file.write_bytes(b""), "is not read"),
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


def _take_weights(folder: Path) -> State:
    """The weights in a folder's safetensors, which it loses."""
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    return state


def _assert_equal(found: State, expected: State) -> None:
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name].float(), expected[name].float()) for name in found)


def _never(*_: object) -> None:
    raise AssertionError("converted again")
