"""Packed rows are the same rows."""

from dataclasses import dataclass
from typing import Any

import pytest
from support.toys import labelled_shapes

from finetune.data import packed_rows
from finetune.data.packed_rows import PackedRows, pack
from finetune.data.source import Source
from finetune.task_types.task import Task


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are packed, in small blocks."""
    monkeypatch.setattr(packed_rows, "LEAST_ROWS", 5)
    monkeypatch.setattr(packed_rows, "ROWS_AT_ONCE", 7)


@pytest.mark.parametrize("task", labelled_shapes(), ids=lambda task: task.name)
def test_packed_rows_are_the_same_rows(task: Task) -> None:
    rows = list(task.load(Source(), "train").rows)
    found = pack(list(rows))
    assert isinstance(found, PackedRows)
    assert list(found) == rows and len(found) == len(rows) == 64
    assert [found[i] for i in range(-64, 64)] == [*rows, *rows]
    assert found[5:-3:4] == rows[5:-3:4]
    with pytest.raises(IndexError):
        found[64]


@dataclass(frozen=True)
class Other:
    id: str
    value: Any


@pytest.mark.parametrize("last", [Other("a\ud800", [1]), Other("b", {}), "another class", Other("c", (1, ["d"]))])
def test_rows_that_bytes_would_change_stay_as_they_are(last: Any) -> None:
    rows = [*(Other(f"\ud800{i}", (i, 0.1, None, True)) for i in range(9)), last]
    assert pack(rows) is rows and len(rows) == 10
    assert list(pack(rows[:9])) == [Other(f"\ud800{i}", (i, 0.1, None, True)) for i in range(9)]
    assert pack(rows[:4]) == rows[:4]
