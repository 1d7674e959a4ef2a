"""Packed features: equal to those encoded at once, in parts of the rows that may be apart."""

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
from finetune.models.feature import Feature, TextFeatures, lengths, truncated_rows
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types import prepare
from finetune.task_types.classification.task import SentenceTask
from finetune.task_types.prepare import array_features, row_chunks
from finetune.task_types.task import Task

TOYS = [*labelled_shapes(), tag_task(context="document"), late_task()]
LENGTH = 24


@pytest.fixture(autouse=True)
def few_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of few rows."""
    monkeypatch.setattr(prepare, "ROWS_AT_ONCE", 7)


def encoded(task: Task, folder: Path) -> Sequence[Feature]:
    rows = task.load(Source(), "train").rows
    return array_features(task, rows, load_tokenizer(folder), LENGTH, lambda event: None)


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
def test_packed_features_are_those_encoded_at_once(task: Task, tiny_bert: Path) -> None:
    rows = task.load(Source(), "train").rows
    expected = task.encode(rows, load_tokenizer(tiny_bert), LENGTH)
    found = encoded(task, tiny_bert)
    first = expected[0]
    plain_text = first.note is None and first.reads is None and not first.choices and not isinstance(first.label, dict)
    assert isinstance(found, TextFeatures) == plain_text
    assert [plain(feature) for feature in found] == [plain(feature) for feature in expected]
    assert [plain(feature) for feature in found[-3:]] == [plain(feature) for feature in expected[-3:]]
    assert lengths(found).tolist() == [len(feature) for feature in expected]
    assert [column.tolist() for column in truncated_rows(found)] == [
        [feature.row for feature in expected],
        [feature.truncated for feature in expected],
    ]
    batches = [tensors(collate(some, pad_id=0)) for some in (found[:9], expected[:9])]
    for ours, theirs in zip(*batches, strict=True):
        assert (ours is None and theirs is None) or (ours.dtype == theirs.dtype and ours.equal(theirs))
    logits = [np.random.default_rng(i).normal(size=shape(task, f)) for i, f in enumerate(expected)]
    assert task.decode(logits, found, rows) == task.decode(logits, expected, rows)


def shape(task: Task, feature: Feature) -> tuple[int, ...]:
    """The shape of a feature's logits."""
    if feature.choices:
        return (len(feature.choices),)
    if isinstance(feature.label, dict):
        outputs = [*getattr(task, "taggers", {}).values()] or [task.tagger, task.chooser]
        return (len(feature.reads), sum(len(part.labels) for part in outputs))
    if isinstance(feature.label, list | tuple) and type(task).__name__ not in (
        "MultiLabelTask",
        "SpanTask",
    ):
        return (len(feature.label), len(getattr(task, "labels", "1")))
    if type(task).__name__ == "SpanTask":
        return (len(feature), 2)
    return (len(getattr(task, "labels", ())) or 1,)


def test_rows_that_share_windows_are_in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    apart, together = tag_task(), tag_task(context="document")
    rows = apart.load(Source(), "train").rows
    assert [end for _, end in row_chunks(apart, rows)] == [*range(7, 64, 7), 64]
    ends = [end for _, end in row_chunks(together, rows)]
    assert len(ends) > 5 and all(end % 2 == 0 for end in ends)  # two rows a document


@dataclass(frozen=True, kw_only=True)
class Odd(SentenceTask):
    """Throw-away."""

    def encode(self, rows: Sequence[Any], tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[Feature]:
        return [replace(one, note=rows[one.row].text) for one in super().encode(rows, tokenizer, max_length)]


def test_parts_number_their_rows_from_the_first_of_all(tiny_bert: Path) -> None:
    rows = cat_rows(30)
    found = encoded(Odd(**vars(cat_task(rows))), tiny_bert)  # in several parts
    assert [(one.row, one.note) for one in found] == [(number, row.text) for number, row in enumerate(rows)]
