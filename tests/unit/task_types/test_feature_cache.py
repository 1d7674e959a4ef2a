"""Features in arrays: equal to those encoded at once, read again from the cache, never stale, damaged or too many."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.new_types import NEW_SHAPES
from support.toys import cat_rows, cat_task, labelled_shapes, late_task, tag_task
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from finetune.data.source import Source
from finetune.models.batch import Batch, collate
from finetune.models.feature import Feature
from finetune.models.feature_arrays import ArrayFeatures, NoArrays, lengths, to_arrays, truncated_rows
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Event, Note
from finetune.task_types import feature_cache
from finetune.task_types.feature_cache import ROWS_AT_ONCE, array_features, row_chunks
from finetune.task_types.parts import Codec
from finetune.task_types.sentence.task import SentenceCodec, SentenceTask
from finetune.task_types.tagging.overlapping.pairs import KEYS
from finetune.task_types.task import Task

TOYS = [*labelled_shapes(), tag_task(context="document"), late_task()]
LENGTH = 24


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and parts of few rows."""
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path))
    monkeypatch.setattr(feature_cache, "ROWS_AT_ONCE", 7)
    return tmp_path / "features"


class Encodings:
    """Counts how often a task's codec encodes; keeps notes."""

    def __init__(self, kind: type[Task], monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.notes, encode = 0, list[str](), kind.codec_class.encode

        def counted(codec: Codec[Any], *given: Any) -> list[Feature]:
            self.count += 1
            return encode(codec, *given)

        monkeypatch.setattr(kind.codec_class, "encode", counted)

    def __call__(self, event: Event) -> None:
        if isinstance(event, Note):
            self.notes.append(event.text)


def encoded(
    task: Task, folder: Path, watch: Any = print, *, content: str = "rows", max_length: int = LENGTH
) -> Sequence[Feature]:
    rows = task.load(Source(), "train").rows
    return array_features(task, rows, load_tokenizer(folder), max_length, content=content, watch=watch)


def plain(feature: Feature) -> list[Any]:
    """All fields of a feature as lists and numbers."""

    def made(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: made(inner) for name, inner in value.items()}
        return np.asarray(value).tolist() if value is not None else None

    return [
        *(made(v) for v in astuple(replace(feature, choices=(), note=None))),
        made(feature.note),
        [plain(one) for one in feature.choices],
    ]


def tensors(batch: Batch) -> list[Tensor | None]:
    return [*batch.inputs(), *batch.labels.values()]


@pytest.mark.parametrize("task", [*TOYS, *NEW_SHAPES], ids=lambda task: task.name)
def test_features_in_arrays_are_those_encoded_at_once(task: Task, tiny_bert: Path, cache: Path) -> None:
    rows = task.load(Source(), "train").rows
    expected = task.codec.encode(rows, load_tokenizer(tiny_bert), LENGTH)
    found, again = encoded(task, tiny_bert), encoded(task, tiny_bert)
    assert isinstance(again, ArrayFeatures) and len(list(cache.iterdir())) == 1
    for given in (found, again):
        assert [plain(feature) for feature in given] == [plain(feature) for feature in expected]
        assert [plain(feature) for feature in given[-3:]] == [plain(feature) for feature in expected[-3:]]
        assert lengths(given).tolist() == [len(feature) for feature in expected]
        assert [column.tolist() for column in truncated_rows(given)] == [
            [feature.row for feature in expected],
            [feature.truncated for feature in expected],
        ]
        batches = [tensors(collate(some, pad_id=0)) for some in (given[:9], expected[:9])]
        for ours, theirs in zip(*batches, strict=True):
            assert (ours is None and theirs is None) or (ours.dtype == theirs.dtype and ours.equal(theirs))
    logits = [np.random.default_rng(i).normal(size=shape(task, f)) for i, f in enumerate(expected)]
    assert task.codec.decode(logits, again, rows) == task.codec.decode(logits, expected, rows)


def shape(task: Task, feature: Feature) -> tuple[int, ...]:
    """The shape of a feature's logits."""
    if feature.choices:
        return (len(feature.choices),)
    if isinstance(feature.label, dict):
        return (len(feature.reads), len(task.labels))
    if isinstance(feature.label, list | tuple) and type(task).__name__ not in (
        "MultiLabelTask",
        "OverlapTask",
        "SpanTask",
    ):
        return (len(feature.label), len(getattr(task, "labels", "1")))
    if type(task).__name__ == "SpanTask":
        return (len(feature), 2)
    if type(task).__name__ == "OverlapTask":
        return (len(feature.reads), 2 * len(task.labels) + 2 * KEYS)
    return (len(getattr(task, "labels", ())) or 1,)


def test_rows_that_share_windows_are_in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    apart, together = tag_task(), tag_task(context="document")
    rows = apart.load(Source(), "train").rows
    assert [end for _, end in row_chunks(apart, rows)] == [*range(7, 64, 7), 64]
    ends = [end for _, end in row_chunks(together, rows)]
    assert len(ends) > 5 and all(end % 2 == 0 for end in ends)  # two rows a document
    assert list(row_chunks(NEW_SHAPES[0], rows)) == [(0, 64)]  # a type that does not say otherwise
    assert ROWS_AT_ONCE == 10_000


def test_a_second_run_does_not_tokenize(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = cat_task()
    watch = Encodings(type(task), monkeypatch)
    encoded(task, tiny_bert, watch)
    first = watch.count
    assert first > 5
    encoded(task, tiny_bert, watch)
    assert watch.count == first and watch.notes == []


def test_what_decides_tokens_decides_the_entry(
    tiny_bert: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, other = cat_task(), tmp_path / "encoder"
    shutil.copytree(tiny_bert, other)
    encoded(task, tiny_bert)
    encoded(task, other)  # another folder with the same vocabulary
    assert len(list(cache.iterdir())) == 1
    (other / "vocab.txt").write_text((tiny_bert / "vocab.txt").read_text().replace("cat\n", "cow\n"))
    encoded(task, other)
    encoded(task, tiny_bert, content="other rows")
    encoded(task, tiny_bert, max_length=12)
    encoded(replace(task, windows=True), tiny_bert)
    encoded(replace(task, labels=("yes", "no")), tiny_bert)
    encoded(replace(task, version=2), tiny_bert)
    assert len(list(cache.iterdir())) == 7
    monkeypatch.setattr(feature_cache, "_code", lambda folders: "other code")
    encoded(task, tiny_bert)
    assert len(list(cache.iterdir())) == 8


def test_a_damaged_entry_is_made_again(tiny_bert: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = cat_task()
    expected = [plain(feature) for feature in encoded(task, tiny_bert)]
    (folder,) = cache.iterdir()
    for file in sorted(folder.glob("[!.]*")):
        whole = file.read_bytes()
        damages = [whole[:-1], b"", b"[]", *(_flipped(whole, place) for place in range(0, len(whole), 97))]
        for damaged in damages:
            file.write_bytes(damaged)
            os.utime(file, (0, 0))  # a checksum is kept while a file's time and size stay
            assert [plain(feature) for feature in encoded(task, tiny_bert)] == expected
        assert file.read_bytes() == whole


def _flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


def test_without_room_or_a_folder_features_are_in_memory(
    tiny_bert: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = cat_task()
    expected = [plain(feature) for feature in task.codec.encode(cat_rows(64), load_tokenizer(tiny_bert), LENGTH)]
    watch = Encodings(type(task), monkeypatch)

    def none_kept() -> bool:
        return not [file for file in cache.rglob("*.*") if file.name != ".lock"]

    monkeypatch.setenv("FINETUNE_CACHE_GB", "0")
    found = encoded(task, tiny_bert, watch)
    assert isinstance(found, ArrayFeatures) and [plain(feature) for feature in found] == expected
    assert watch.notes == [] and not cache.exists()
    monkeypatch.setenv("FINETUNE_CACHE_GB", "1e-6")
    assert [plain(feature) for feature in encoded(task, tiny_bert, watch)] == expected
    assert "FINETUNE_CACHE_GB" in watch.notes[-1] and none_kept()
    monkeypatch.delenv("FINETUNE_CACHE_GB")
    with monkeypatch.context() as patch:  # the disk is full when some parts are written
        patch.setattr(feature_cache, "append_arrays", _full)
        assert [plain(feature) for feature in encoded(task, tiny_bert, watch)] == expected
    assert "No space left on device" in watch.notes[-1] and none_kept()
    shutil.rmtree(cache)
    cache.write_text("a file where the folder should be")
    assert [plain(feature) for feature in encoded(task, tiny_bert, watch)] == expected
    assert "FINETUNE_CACHE" in watch.notes[-1] and len(watch.notes) == 3


def _full(*_: Any) -> None:
    raise OSError(28, "No space left on device")


class OddCodec(SentenceCodec):
    """Its notes are texts, which have no array form."""

    def encode(self, rows: Sequence[Any], tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[Feature]:
        return [replace(one, note=rows[one.row].text) for one in super().encode(rows, tokenizer, max_length)]


@dataclass(frozen=True, kw_only=True)
class Odd(SentenceTask):
    """Throw-away."""

    codec_class = OddCodec


def test_features_without_an_array_form_are_a_list(
    tiny_bert: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = cat_rows(30)
    task = Odd(**vars(cat_task(rows)))
    found = encoded(task, tiny_bert)  # in several parts
    monkeypatch.setattr(feature_cache, "ROWS_AT_ONCE", 30)
    watch = Encodings(Odd, monkeypatch)
    assert [plain(feature) for feature in encoded(task, tiny_bert)] == [plain(feature) for feature in found]
    assert isinstance(found, list) and watch.count == 1
    assert [(one.row, one.note) for one in found] == [(number, row.text) for number, row in enumerate(rows)]


@pytest.mark.parametrize(
    "fields",
    [
        [{"label": 1}, {"label": 0.5}],
        [{"label": 1}, {"label": None}],
        [{"label": [1]}, {"label": 1}],
        [{"note": [1, 2]}, {"note": [1, 2]}],
        [{"note": {"a": 1}}, {"note": {"b": 1}}],
        [{"note": np.array(["a"])}, {"note": np.array(["b"])}],
        [{"choices": [Feature(row=0, input_ids=[1], label=1)]}, {"choices": [Feature(row=1, input_ids=[1])]}],
        [{"choices": [Feature(row=0, input_ids=[1])]}, {}],
    ],
)
def test_fields_of_mixed_kinds_have_no_array_form(fields: list[dict[str, Any]]) -> None:
    with pytest.raises(NoArrays):
        to_arrays([Feature(row=row, **({"input_ids": [1, 2]} | given)) for row, given in enumerate(fields)])


def test_whole_numbers_are_small_on_disk_and_do_not_overflow() -> None:
    features = [Feature(row=0, input_ids=[1, 70_000], label=-100, note=np.array([[200, 1], [100, 2]]))]
    arrays = to_arrays(features, first_row=300)
    assert {name: arrays[name].dtype for name in ("row", "input_ids", "label", "note")} == {
        "row": np.uint16,
        "input_ids": np.uint32,
        "label": np.int8,
        "note": np.uint8,
    }
    (found,) = ArrayFeatures([arrays])
    assert found.note.sum(0).tolist() == [300, 3] and found.row == 300 and found.label == -100
