"""Predictions for records, in order; a record without a prediction gets an error."""

import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import islice
from typing import IO, Any, Protocol, TypeVar

from finetune.data.issues import Fault
from finetune.data.messages import lacking, so_many
from finetune.data.records import Record, column_names, whole
from finetune.data.rows import Row
from finetune.errors import UserError, first_line
from finetune.inference.ahead import ahead
from finetune.models.feature import Feature
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType, NoRow
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import UNUSABLE
from finetune.task_types.task import Answer, Task
from finetune.task_types.types import inputs_fault, named_type, type_of

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
        """The columns that the model was trained on, where that was a user's own data."""

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
    """The cells of a row's prediction, or only its error; `truncated`: the row was longer than `max_length`."""

    cells: dict[str, Any]
    truncated: bool = False


@dataclass(frozen=True, kw_only=True)
class Window:
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
    return _answered(predictor, layout, _window(predictor, layout, records))


def answer_windows(
    predictor: Predicts, layout: Layout, windows: Iterable[Sequence[Record]]
) -> Iterator[tuple[Sequence[Record], list[Answered]]]:
    """The records of each window with their predictions. If the predictor `overlaps`, a thread reads and encodes a
    window while the model predicts the one before it.
    """
    encoded = (_encoded(predictor, _window(predictor, layout, records)) for records in windows)
    for window in ahead(encoded) if predictor.overlaps else encoded:
        yield window.records, _answered(predictor, layout, window)


def _window(predictor: Predicts, layout: Layout, records: Sequence[Record]) -> Window:
    bare = named_type(layout.shape).without_labels(layout, predictor.task)
    window = Window(records=records, rows=[], kept=[], errors={})
    for index, record in enumerate(records):
        try:
            row = row_of(bare, record)
            if fault := predictor.task.fault(row):
                raise NoRow(fault)
        except NoRow as fault:
            window.errors[index] = str(fault)
            continue
        window.rows.append(row)
        window.kept.append(index)
    return window


def _encoded(predictor: Predicts, window: Window) -> Window:
    """The window with its features; unchanged if some row cannot be encoded."""
    try:
        return replace(window, features=predictor.encoded(window.rows) if window.rows else None)
    except NOT_A_ROW:
        return window


def _answered(predictor: Predicts, layout: Layout, window: Window) -> list[Answered]:
    """The prediction for each record of a window, in order."""
    kind = named_type(layout.shape)
    done = [Answered({ERROR: window.errors.get(index, "")}) for index in range(len(window.records))]
    answers = _answers(predictor, window.rows, window.features)
    for index, row, (answer, truncated) in zip(window.kept, window.rows, answers, strict=True):
        cells = {ERROR: answer} if isinstance(answer, str) else kind.cells(predictor.task, layout, answer, row)
        done[index] = Answered({name: _rounded(cell) for name, cell in cells.items()}, truncated)
    return done


def with_answer(record: Record, answered: Answered, taken: Collection[str]) -> dict[str, Any]:
    """A record's own cells, and the prediction's under names that are not `taken`."""
    return record.values | {free_name(name, taken): cell for name, cell in answered.cells.items()}


def free_name(name: str, taken: Collection[str]) -> str:
    """An unused column name: `answer`, or `predicted answer` if the file already has that column."""
    while name in taken:
        name = f"predicted {name}"
    return name


def answer_values(predictor: Predicts, rows: Iterable[Any] | Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Predictions for Python rows: texts, tuples of inputs, or mappings by column name; window by window as for files.

    `rows` may also be a table (a DataFrame, or a mapping of columns). Raises UserError for anything else.
    """
    return [one for window in windows(_rows_in(predictor, rows)) for one in _window_values(predictor, window)]


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


def _window_values(predictor: Predicts, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """The predictions for the rows of a window."""
    records: list[Record] = []
    by_layout: dict[tuple[str, ...], tuple[Layout, list[int]]] = {}  # some may be pairs and some not
    for number, given in enumerate(rows):
        values, layout, what = _as_values(predictor, given)
        fault = Fault(what, UNUSABLE) if what else None
        records.append(whole(Record(row=number + 1, line=number + 1, values=values, fault=fault)))
        by_layout.setdefault(layout.text, (layout, []))[1].append(number)
    found: list[dict[str, Any]] = [{}] * len(records)
    for layout, numbers in by_layout.values():
        for number, one in zip(numbers, answer_records(predictor, layout, [records[n] for n in numbers]), strict=True):
            found[number] = one.cells
    return found


def answer_lines(predictor: Predicts, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The prediction for each line as it arrives: a JSON object by column name, or tab-separated inputs."""
    for line in lines:
        text = line.rstrip("\r\n")
        given: Any = tuple(text.split("\t"))
        if text.startswith("{"):
            try:
                given = json.loads(text)
            except (ValueError, RecursionError) as error:
                yield {ERROR: f"is not JSON ({first_line(error)})"}
                continue
        yield _window_values(predictor, [given])[0]


def lines_of(stream: IO[str]) -> Iterable[str]:
    """A stream's lines, as UTF-8 whatever the locale; invalid bytes become lone surrogates."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8-sig", errors="surrogateescape", newline="\n")
    return stream


def _rows_in(predictor: Predicts, given: Any) -> Iterable[Any]:
    """One item per row. Raises UserError for a value that does not contain rows."""
    if hasattr(given, "itertuples"):  # a pandas DataFrame, checked without importing pandas
        cells = given.astype(object).where(given.notna(), None).itertuples(index=False, name=None)
        return _rows_of_table(predictor, list(given.columns), cells)
    if hasattr(given, "to_pydict"):  # a pyarrow Table
        given = given.to_pydict()
    if isinstance(given, Mapping):
        return _rows_of_table(predictor, list(given), zip(*_columns(given), strict=True))
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        kind = type(given).__name__
        raise UserError(f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} is not rows", "Give a list of them, or a table")
    if isinstance(given, Sequence) and given and all(isinstance(row, Mapping) for row in given):
        _require_columns(predictor, column_names(list(dict.fromkeys(name for row in given for name in row))))
    rows: Iterable[Any] = given
    return rows


def _columns(table: Mapping[Any, Any]) -> list[Sequence[Any]]:
    """The columns of a mapping. Raises UserError unless they are lists of equal length."""
    for name, cells in table.items():
        if isinstance(cells, str | bytes) or not hasattr(cells, "__len__"):
            raise UserError(
                f"the column '{name}' is a {type(cells).__name__}, not a list", "Give a list, even for one row"
            )
    lengths = {len(cells) for cells in table.values()}
    if len(lengths) > 1:
        raise UserError(f"the columns have {min(lengths)} to {max(lengths)} cells", "Give lists of equal length")
    return list(table.values())


def _rows_of_table(
    predictor: Predicts, names: Sequence[Any], rows: Iterable[Sequence[Any]]
) -> Iterable[dict[str, Any]]:
    """The rows as mappings. Raises UserError for a table without the model's text columns."""
    columns = column_names(names)
    _require_columns(predictor, columns)
    return (dict(zip(columns, cells, strict=True)) for cells in rows)


def _require_columns(predictor: Predicts, columns: Sequence[str]) -> None:
    """Raises UserError where columns are neither those of training nor named as the inputs of the task's rows."""
    inputs = list(signature(predictor.task.row).parameters)
    wanted = predictor.layout.text if predictor.layout is not None else inputs[:1]
    if set(wanted) <= set(columns) or set(inputs) & set(columns):
        return
    texts = ",".join(["COLUMN"] * len(wanted))
    raise UserError(
        f"the data {lacking(wanted, columns)}, on which the model was trained",
        f"It has {', '.join(columns)}; name {'it' if len(wanted) == 1 else 'them'}: text={texts}",
    )


def _as_values(predictor: Predicts, given: Any) -> tuple[dict[str, Any], Layout, str]:
    """The cells of a row, which of them are the model's inputs, and what is wrong with them, if anything."""
    kind = _type_of(predictor)
    trained = predictor.layout
    names = list(signature(predictor.task.row).parameters)
    if isinstance(given, Mapping):
        cells = dict(zip(column_names(list(given)), given.values(), strict=True))
        if trained is not None and set(trained.text) <= set(cells):
            label = trained.label if set(trained.label) <= set(cells) else ()
            return cells, replace(trained, id="", label=label), ""
        text = tuple(name for name in names if name in cells)
        fault = inputs_fault(trained, len(text)) if text else ""
        spans = trained.spans if trained else ()
        text = text or (trained.text if trained else tuple(names[:1]))
        return cells, Layout(shape=kind.name, text=text, spans=spans), fault
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    inputs: tuple[Any, ...] = tuple(given) if several else (given,)
    inputs = kind.arranged(inputs, names)
    fault = inputs_fault(trained, len(inputs))
    if len(inputs) > len(names):
        fault = fault or f"has {so_many(len(inputs), 'input')}, but the model takes {' and '.join(names)}"
    values = dict(zip(names, inputs, strict=False))
    return values, Layout(shape=kind.name, text=tuple(values), spans=trained.spans if trained else ()), fault


def _type_of(predictor: Predicts) -> DataType:
    """The type of the model's rows. Raises UserError if it is unknown."""
    kind = type_of(predictor.task)
    if kind is None:
        raise UserError(f"the task {predictor.task.name} has no known data type", "Call the model with a row's inputs")
    return kind


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
