"""How often each label occurs in a split, for a run's record."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from finetune.data.rows import Row, StreamedRows
from finetune.runs.whole_record import LONGEST_LABEL, MOST_LABELS
from finetune.task_types.task import Task
from finetune.task_types.types import type_of

ROWS_AT_ONCE = 1_000
NONE = "no label"


def frequent_labels(task: Task, rows: Sequence[Row]) -> dict[str, int]:
    """The most frequent labels and their counts; empty for tasks without classes, as a text streamed from disk is."""
    if isinstance(rows, StreamedRows):
        return {}
    begins = range(0, len(rows), ROWS_AT_ONCE)
    return _tallied(task, ([row.gold for row in rows[begin : begin + ROWS_AT_ONCE]] for begin in begins))


def frequent_predictions(task: Task, values: Sequence[Any]) -> dict[str, int]:
    """The same of predictions, which have the form of a label."""
    return _tallied(task, [values])


def _tallied(task: Task, parts: Iterable[Sequence[Any]]) -> dict[str, int]:
    kind, counts = type_of(task), Counter[str]()
    if kind is None:
        return {}
    for golds in parts:
        counts += kind.tally(golds)
    if set(counts) == {NONE}:
        return {}
    return {name[:LONGEST_LABEL]: count for name, count in counts.most_common(MOST_LABELS)}
