"""How often each label occurs in a split, for a run's record."""

from collections import Counter
from collections.abc import Sequence

from finetune.data.rows import Row, StreamedRows
from finetune.runs.whole_record import LONGEST_LABEL, MOST_LABELS
from finetune.task_types.task import Task
from finetune.task_types.types import type_of

ROWS_AT_ONCE = 1_000
NONE = "no label"


def frequent_labels(task: Task, rows: Sequence[Row]) -> dict[str, int]:
    """The most frequent labels and their counts; empty for tasks without classes, as a text streamed from disk is."""
    kind, counts = type_of(task), Counter[str]()
    if kind is None or isinstance(rows, StreamedRows):
        return {}
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        counts += kind.tally([row.gold for row in rows[begin : begin + ROWS_AT_ONCE]])
    if set(counts) == {NONE}:
        return {}
    return {name[:LONGEST_LABEL]: count for name, count in counts.most_common(MOST_LABELS)}
