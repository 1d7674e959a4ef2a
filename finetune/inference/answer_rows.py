"""Predictions for records, in order; a record without a prediction gets an error."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol, TypeVar

from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.errors import UserError, first_line
from finetune.models.feature import Feature
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType
from finetune.task_types.parts import Answer
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.task import Task
from finetune.task_types.types import named_type

ERROR = "error"
WINDOW = 4_096  # rows that are sorted by length and predicted together
FIRST_WINDOW = 64
NOT_A_ROW = (UserError, ValueError, TypeError, OverflowError)  # what encoding and predicting raise for a bad row
T = TypeVar("T")


class Predicts(Protocol):
    """What a Predictor has for rows of any kind."""

    @property
    def task(self) -> Task:
        """The task of the rows."""

    @property
    def layout(self) -> Layout | None:
        """The columns of training, for a model of a user's own data."""

    def cells(self, kind: DataType, layout: Layout, answer: Answer, row: Row) -> dict[str, Any]:
        """A prediction as cells of a file."""

    @property
    def overlaps(self) -> bool:
        """Whether rows are encoded while the model predicts others."""

    def encoded(self, rows: Sequence[Row]) -> Sequence[Feature]:
        """The features of the rows."""

    def answers_and_truncated(
        self, rows: Sequence[Row], features: Sequence[Feature] | None = None
    ) -> tuple[list[Answer], list[bool]]:
        """A prediction for each row, and whether the row was truncated; from the rows' features, if they are given."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The cells of a row's prediction, or only its error; `truncated`: the row was longer than `max_length`.

    `confidence` is None for an error, and for a task type whose predictions have none.
    """

    cells: dict[str, Any]
    truncated: bool = False
    confidence: float | None = None


@dataclass(frozen=True, kw_only=True)
class RecordWindow:
    """Records that are predicted together, the rows that they make with their indices, and the errors of the others.

    `features` are those of the rows; None if they were not encoded, or cannot be.
    """

    records: Sequence[Record]
    rows: list[Row]
    kept: list[int]
    errors: dict[int, str]
    features: Sequence[Feature] | None = None


def answer_records(predictor: Predicts, layout: Layout, records: Sequence[Record]) -> list[Answered]:
    """The prediction for each record, in order."""
    return _answered(predictor, layout, record_window(predictor.task, layout, records))


def answer_windows(
    predictor: Predicts, layout: Layout, windows: Iterable[Sequence[Record]]
) -> Iterator[tuple[Sequence[Record], list[Answered]]]:
    """The records of each window with their predictions. If the predictor `overlaps`, a thread reads and encodes a
    window while the model predicts the one before it.
    """
    encoded = (_encoded(predictor, record_window(predictor.task, layout, records)) for records in windows)
    for window in ahead(encoded) if predictor.overlaps else encoded:
        yield window.records, _answered(predictor, layout, window)


def rows_of_records(predictor: Predicts, layout: Layout, records: Sequence[Record]) -> list[Row]:
    """The rows of the records that make one, without labels."""
    return record_window(predictor.task, layout, records).rows


def answered_rows(
    predictor: Predicts, layout: Layout, records: Sequence[Record]
) -> Iterator[tuple[Record, Row | None, Answer | str]]:
    """Each record with its row and prediction, or with why it has none."""
    window = record_window(predictor.task, layout, records)
    answers = dict(zip(window.kept, zip(window.rows, _answers(predictor, window.rows), strict=True), strict=True))
    for index, record in enumerate(records):
        row, (answer, _) = answers.get(index, (None, (window.errors.get(index, ""), False)))
        yield record, row, answer


def record_window(task: Task, layout: Layout, records: Sequence[Record]) -> RecordWindow:
    """The rows of records, without labels, and why the other records make none."""
    bare = named_type(layout.shape).without_labels(layout, task)
    window = RecordWindow(records=records, rows=[], kept=[], errors={})
    for index, record in enumerate(records):
        try:
            row = row_of(bare, record)
            if fault := task.fault(row):
                raise NoRow(fault)
        except NoRow as fault:
            window.errors[index] = str(fault)
            continue
        window.rows.append(row)
        window.kept.append(index)
    return window


def _encoded(predictor: Predicts, window: RecordWindow) -> RecordWindow:
    """The window with its features; unchanged if some row cannot be encoded."""
    try:
        return replace(window, features=predictor.encoded(window.rows) if window.rows else None)
    except NOT_A_ROW:
        return window


def _answered(predictor: Predicts, layout: Layout, window: RecordWindow) -> list[Answered]:
    """The prediction for each record of a window, in order."""
    kind = named_type(layout.shape)
    done = [Answered({ERROR: window.errors.get(index, "")}) for index in range(len(window.records))]
    answers = _answers(predictor, window.rows, window.features)
    for index, row, (answer, truncated) in zip(window.kept, window.rows, answers, strict=True):
        if isinstance(answer, str):
            done[index] = Answered({ERROR: answer}, truncated)
            continue
        cells = {name: _rounded(cell) for name, cell in predictor.cells(kind, layout, answer, row).items()}
        done[index] = Answered(cells, truncated, predictor.task.confidence(answer, row))
    return done


def with_answer(record: Record, answered: Answered, taken: Collection[str]) -> dict[str, Any]:
    """A record's own cells, and the prediction's under names that are not `taken`."""
    return record.values | {free_name(name, taken): cell for name, cell in answered.cells.items()}


def free_name(name: str, taken: Collection[str]) -> str:
    """An unused column name: `prediction`, or `predicted prediction` if the file already has that column."""
    while name in taken:
        name = f"predicted {name}"
    return name


def windows(coming: Iterable[T], *, skip: int = 0) -> Iterator[list[T]]:
    """The windows of rows that are predicted together, without the first ones, of `skip` rows.

    They grow from FIRST_WINDOW rows (a rate is shown soon) to WINDOW (sorting by length saves padding). Logits depend
    in their last bits on the rest of a batch, so a window's rows depend on nothing but their number in the file.
    """
    rows, start, size = iter(coming), 0, FIRST_WINDOW
    while window := list(islice(rows, size)):
        if start >= skip:
            yield window
        start += len(window)
        size = min(WINDOW, 2 * size)


def _rounded(cell: Any) -> Any:
    """A number rounded to 6 significant digits."""
    return float(f"{cell:.6g}") if isinstance(cell, float) else cell


def _answers(
    predictor: Predicts, rows: Sequence[Row], features: Sequence[Feature] | None = None
) -> list[tuple[Answer | str, bool]]:
    """The prediction for each row, or its error, and whether the row was truncated.

    A batch with a failing row is halved until that row is alone.
    """
    try:
        given = [] if features is None else [features]
        found = predictor.answers_and_truncated(rows, *given)
        return list(zip(*found, strict=True))
    except NOT_A_ROW as error:
        if len(rows) == 1:
            return [(error.what if isinstance(error, UserError) else first_line(error), False)]
    half = len(rows) // 2
    return [answer for some in (rows[:half], rows[half:]) for answer in _answers(predictor, some)]


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yields the items; a thread makes the next one while the caller uses the last."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(lambda: list(islice(items, 1)))
        while made := coming.result():
            coming = thread.submit(lambda: list(islice(items, 1)))
            yield made[0]
