"""Records on the way to their predictions, and the windows of them that are predicted together."""

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.task_types.columns import Layout
from finetune.task_types.parts import Answer
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.task import Task
from finetune.task_types.types import named_type

ERROR = "error"
WINDOW = 4_096  # rows that are sorted by length and predicted together
FIRST_WINDOW = 64
T = TypeVar("T")


@dataclass(slots=True)
class PredictedRow:
    """A record with its columns, the row that it makes, without its label, and the row's prediction; or an `error`,
    why it has none. `truncated`: the row was longer than `max_length`.
    """

    record: Record
    layout: Layout
    row: Row | None = None
    error: str = ""
    answer: Answer | None = None
    truncated: bool = False


def rows_of_records(task: Task, records: Iterable[tuple[Record, Layout]]) -> list[PredictedRow]:
    """The rows of records to predict, each record with its columns, and why the others make none."""
    window, read, bare = list[PredictedRow](), None, None
    for record, layout in records:
        if bare is None or layout is not read:
            read, bare = layout, replace(named_type(layout.shape).fitted(layout, task), label=())
        one = PredictedRow(record, layout)
        try:
            row = row_of(bare, record)
            one.error = task.fault(row)
            one.row = None if one.error else row
        except NoRow as fault:
            one.error = str(fault)
        window.append(one)
    return window


def free_name(name: str, taken: Collection[str]) -> str:
    """An unused column name: `prediction`, or `predicted prediction` if the file already has that column."""
    while name in taken:
        name = f"predicted {name}"
    return name


def windows(coming: Iterable[T], *, skip: int = 0, first: int = 0) -> Iterator[list[T]]:
    """The windows of rows that are predicted together, without the first ones, of `skip` rows.

    They grow from `first` rows, by default FIRST_WINDOW (a rate is shown soon), to WINDOW (sorting by length saves
    padding). Logits depend in their last bits on the rest of a batch, so a window's rows depend on nothing but their
    number in the file.
    """
    rows, start, size = iter(coming), 0, first or FIRST_WINDOW
    while window := list(islice(rows, size)):
        if start >= skip:
            yield window
        start += len(window)
        size = min(WINDOW, 2 * size)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yields the items; a thread makes the next one while the caller uses the last."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(lambda: list(islice(items, 1)))
        while made := coming.result():
            coming = thread.submit(lambda: list(islice(items, 1)))
            yield made[0]
