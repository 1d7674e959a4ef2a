"""Packed features: equal to those encoded at once, in parts of the rows that may be apart."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.new_types import NEW_SHAPES
from support.toys import labelled_shapes, late_task, tag_task

from finetune.data.source import Source
from finetune.models.batch import collate
from finetune.models.feature import Feature, TextFeatures, lengths, truncated_rows
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types import prepare
from finetune.task_types.task import Task


def plain(value: Any) -> Any:
    """A feature's fields, and theirs, as lists and numbers."""
    if isinstance(value, Feature):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple) and value and isinstance(value[0], Feature):
        return [plain(inner) for inner in value]
    return None if value is None else np.asarray(value).tolist()


@pytest.mark.parametrize(
    "task",
    [*labelled_shapes(), tag_task(context="document"), late_task(), *NEW_SHAPES],
    ids=lambda task: task.name,
)
def test_packed_features_are_those_of_encode(task: Task, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "ROWS_AT_ONCE", 7)
    rows, tokenizer = task.load(Source(), "train").rows, load_tokenizer(tiny_bert)
    expected, found = task.encode(rows, tokenizer, 24), prepare.array_features(task, rows, tokenizer, 24, print)
    first = expected[0]
    is_plain = first.note is None and first.reads is None and not first.choices and not isinstance(first.label, dict)
    assert isinstance(found, TextFeatures) == is_plain
    assert [plain(feature) for feature in found] == [plain(feature) for feature in expected]
    assert lengths(found).tolist() == [len(feature) for feature in expected]
    wanted = [[feature.row for feature in expected], [feature.truncated for feature in expected]]
    assert [column.tolist() for column in truncated_rows(found)] == wanted
    ours, theirs = (collate(some, pad_id=0) for some in (found[-9:], expected[-9:]))
    for one, other in zip(
        (*ours.inputs(), *ours.labels.values()), (*theirs.inputs(), *theirs.labels.values()), strict=True
    ):
        assert (one is None and other is None) or (one.dtype == other.dtype and one.equal(other))
