"""Pretrained weights."""

import shutil
from collections.abc import Callable
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

import pytest
from huggingface_hub import DryRunFileInfo
from safetensors.torch import load_file, save_file
from support.records import change_config
from support.toys import choice_task
from transformers import AutoModel, AutoTokenizer, BertConfig

from finetune.errors import UserError
from finetune.models.model_folder import empty_model, from_pretrained, load_config, save_checkpoint
from finetune.models.pretrained import KNOWN, MINILM_SHA256, near_names, resolve
from finetune.models.tokenizers.load import load_fast_tokenizer, load_tokenizer, tokenizer_hash
from finetune.runs.recipe import Recipe
from finetune.runs.record_files import load_record
from finetune.task_types.vocabulary import ENCODERS, MULTILINGUAL


def test_weights_that_were_tampered_with_are_refused(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finetune.models.pretrained.MINILM_SHA256", MINILM_SHA256[::-1])
    with pytest.raises(Exception, match=f"its sha256 is {MINILM_SHA256}, not the published"):
        resolve("minilm")


@pytest.mark.parametrize(
    ("size", "cached", "refused"), [(10**6, False, False), (10**12, True, False), (10**12, False, True)]
)
def test_a_repository_that_does_not_fit_is_refused_before_it_is_fetched(
    size: int, cached: bool, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = []

    def fetch(name: str, *, dry_run: bool = False, **_: object) -> object:
        fetched.append(dry_run)
        file = DryRunFileInfo(
            commit_hash="c", file_size=size, filename="model.safetensors", local_path="", is_cached=cached,
            will_download=not cached,
        )  # fmt: skip
        return [file] if dry_run else str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    with pytest.raises(UserError, match=r"1,000\.0 GB.*smaller encoder" if refused else "lacks config.json"):
        resolve("somebody/model")
    assert fetched == ([True] if refused else [True, False])


@pytest.mark.parametrize(
    ("weights", "fetched"),
    [
        (["model.safetensors", "pytorch_model.bin"], ["model.safetensors"]),
        (["model-00001-of-00002.safetensors", "tf_model.h5"], ["model-00001-of-00002.safetensors"]),
        (["pytorch_model.bin", "pytorch_model.generator.bin", "tf_model.h5"], ["pytorch_model.bin"]),
        (["pytorch_model-00001-of-00001.bin"], ["pytorch_model-00001-of-00001.bin"]),
        (["flax_model.msgpack"], []),
    ],
)
def test_of_a_repository_s_weights_those_are_fetched_that_are_read(
    weights: list[str], fetched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(name: str, *, dry_run: bool = False, allow_patterns: list[str], **_: object) -> object:
        if not dry_run:
            assert allow_patterns == ["config.json", *fetched]
            raise UserError("fetched")
        files = [name for name in ("config.json", *weights) if any(fnmatch(name, one) for one in allow_patterns)]
        return [
            DryRunFileInfo(
                commit_hash="c", file_size=1, filename=file, local_path="", is_cached=False, will_download=True
            )
            for file in files
        ]

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    with pytest.raises(UserError, match="fetched"):
        resolve("somebody/model")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("google-bert/bert-bse-uncased", "'google-bert/bert-base-uncased'"),
        ("google/bert-base-uncased", "'google-bert/bert-base-uncased'"),
        ("bert-base-uncasd", "'google-bert/bert-base-uncased'"),
        ("roberta-bse", "'FacebookAI/roberta-base'"),
        ("klue/roberta-bas", "'klue/roberta-base'"),
        ("miniml", "'minilm'"),
    ],
)
def test_a_mistyped_name_leads_to_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UserError, match=f"Did you mean {near}"):
        resolve(name)
    assert not near_names("google-bert/bert-base-uncased") and not near_names("who/knows-what")


def test_the_encoders_that_are_suggested_elsewhere_are_known() -> None:
    assert {*MULTILINGUAL, *chain(*ENCODERS.values()), Recipe(task="any").model} <= {*KNOWN}


def test_a_url_of_a_model_leads_to_its_name() -> None:
    with pytest.raises(UserError, match=r"is a URL\. Give its name: model=klue/bert-base$"):
        resolve("https://huggingface.co/klue/bert-base/tree/main?x=1")
    with pytest.raises(UserError, match=r"is a URL\. Download the folder"):
        resolve("https://example.org/model")


def test_what_transformers_loads_is_the_name_or_where_minilm_is(minilm: Path, tiny_bert: Path) -> None:
    assert resolve("minilm").loadable == str(minilm)
    assert resolve(str(tiny_bert)).loadable == str(tiny_bert)


def test_metadata_and_spare_files_leave_the_fingerprint(tiny_encoder: Path, tmp_path: Path) -> None:
    folder, again = tmp_path / "one", tmp_path / "again"
    AutoTokenizer.from_pretrained(tiny_encoder).save_pretrained(folder)
    AutoModel.from_pretrained(tiny_encoder).save_pretrained(folder)
    before = resolve(str(folder)).fingerprint
    shutil.copytree(folder, again)
    change_config(again, _name_or_path="elsewhere", transformers_version="4.0.0", dtype="float16")
    save_file(load_file(again / "model.safetensors"), again / "model.safetensors", metadata={"format": "np", "a": "b"})
    (again / "README.md").write_text("spare")
    tokens = tokenizer_hash(load_tokenizer(again))
    for name in ("vocab.txt", "vocab.json", "merges.txt"):
        (again / name).write_text("spare")
    assert tokenizer_hash(load_tokenizer(again)) == tokens
    assert resolve(str(again)).fingerprint == before


@pytest.mark.parametrize("part", ["weight", "name", "config", "tokenizer", "tokenizer settings", "pooling"])
def test_what_decides_changes_the_fingerprint(part: str, tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bert"
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
    AutoModel.from_pretrained(tiny_bert).save_pretrained(folder)
    before, weights = resolve(str(folder)).fingerprint, load_file(folder / "model.safetensors")
    if part == "weight":
        next(iter(weights.values())).view(-1)[0] += 1e-3
    elif part == "name":
        weights["other"] = weights.pop("pooler.dense.bias")
    elif part == "config":
        change_config(folder, layer_norm_eps=1e-5)
    elif part == "pooling":
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    else:
        file = folder / ("tokenizer.json" if part == "tokenizer" else "tokenizer_config.json")
        file.write_text(file.read_text().replace("[MASK]", "[MARK]"))
    save_file(weights, folder / "model.safetensors")
    assert resolve(str(folder)).fingerprint != before


def test_minilm_keeps_the_fingerprint_of_its_records_also_as_a_copy(minilm: Path, tmp_path: Path) -> None:
    records = Path(__file__).parents[3] / "results"
    found = {load_record(file).weights for file in records.glob("mrpc/*/record.json")}
    shutil.copytree(minilm, tmp_path / "copy")
    (tmp_path / "copy" / "README.md").unlink()
    assert resolve("minilm").fingerprint == resolve(str(tmp_path / "copy")).fingerprint
    assert resolve("minilm").fingerprint in found


PLACES: dict[str, Callable[[Path], object]] = {
    "transformers.AutoConfig.from_pretrained": load_config,
    "transformers.AutoModel.from_pretrained": lambda folder: from_pretrained(AutoModel, folder, config=BertConfig()),
    "transformers.AutoModel.from_config": lambda folder: empty_model(load_config(folder), choice_task().head),
    "transformers.AutoTokenizer.from_pretrained": load_tokenizer,
    "finetune.models.tokenizers.load.FastTokenizer": load_fast_tokenizer,
    "finetune.models.model_folder._save": lambda folder: save_checkpoint(
        empty_model(load_config(folder), choice_task().head), folder.with_name("saved"), load_tokenizer(folder), {}
    ),
}


@pytest.mark.parametrize("theirs", [TimeoutError("the caller's"), MemoryError()])
@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_of_the_files_is_not_called_damage(
    place: str, theirs: Exception, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of time that the caller sets by a signal ends loading and saving at any place."""

    def ends(*_: object, **__: object) -> None:
        raise theirs

    monkeypatch.setattr(place, ends)
    with pytest.raises(type(theirs)):
        PLACES[place](tiny_bert)
