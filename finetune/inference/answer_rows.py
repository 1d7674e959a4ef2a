"""Rows to predict, from records of a file or from Python values; and windows of rows that are predicted together."""

import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from itertools import islice
from typing import IO, Any, TypeVar

from finetune.data.issues import Finding
from finetune.data.messages import lacking, so_many
from finetune.data.records import Record, column_names, whole
from finetune.data.rows import Row
from finetune.errors import UserError, first_line
from finetune.inference.predict_plan import known_type, shown_names
from finetune.task_types.columns import UNUSABLE, Layout, NoRow
from finetune.task_types.own_type import OwnType
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task
from finetune.task_types.types import inputs_fault, named_type, row_of, type_of

ERROR = "error"
WINDOW = 4_096  # rows that are sorted by length and predicted together
FIRST_WINDOW = 64
T = TypeVar("T")


@dataclass(slots=True)
class PredictedRow:
    """A record with its columns, its row without the label, and the prediction; or the `error`, why it has none.

    `truncated` says whether the row was longer than `max_length`.
    """

    record: Record
    layout: Layout
    row: Row | None = None
    error: str = ""
    answer: Answer | None = None
    truncated: bool = False


def rows_of_records(task: Task, records: Iterable[tuple[Record, Layout]]) -> list[PredictedRow]:
    """The rows of records, each with its columns; or the error of a record that makes none."""
    window, current, unlabelled = list[PredictedRow](), None, None
    for record, layout in records:
        if unlabelled is None or layout is not current:  # a file has one layout
            current, unlabelled = layout, replace(named_type(layout.shape).fitted(layout, task), label=())
        predicted = PredictedRow(record, layout)
        try:
            row = row_of(unlabelled, record)
            predicted.error = task.fault(row)
            predicted.row = None if predicted.error else row
        except NoRow as fault:
            predicted.error = str(fault)
        window.append(predicted)
    return window


def free_name(name: str, taken: Collection[str]) -> str:
    """An unused column name: `prediction`, or `predicted prediction` if the file has that column."""
    while name in taken:
        name = f"predicted {name}"
    return name


def windows(rows: Iterable[T], *, skip: int = 0, first: int = 0) -> Iterator[list[T]]:
    """The windows of rows that are predicted together, after the first ones with `skip` rows.

    They grow from `first` rows, by default FIRST_WINDOW (a rate is shown soon), to WINDOW (sorting by length saves
    padding). The last bits of logits depend on the rest of a batch, so the number of a row alone decides its window.
    """
    remaining, start, size = iter(rows), 0, first or FIRST_WINDOW
    while window := list(islice(remaining, size)):
        if start >= skip:
            yield window
        start += len(window)
        size = min(WINDOW, 2 * size)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yields the items; a thread makes the next one while the caller uses the last."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item


class PythonRows:
    """Python values as rows of a task: by the columns of training (`layout`) or of the task, by the names of
    `Task.row`, or in the order of these.
    """

    def __init__(self, task: Task, layout: Layout | None) -> None:
        self.task, self.layout = task, layout
        parameters = signature(task.row).parameters
        self.inputs = tuple(parameters)
        self.needed = sum(parameter.default is parameter.empty for parameter in parameters.values())

    @cached_property
    def kind(self) -> OwnType:
        """The type of the rows. Raises UserError if it is unknown."""
        return known_type(self.task)

    @cached_property
    def trained(self) -> Layout | None:
        """The columns of training, or those that the task declares; None without either."""
        if self.layout is not None or not self.task.inputs:
            return self.layout
        return Layout(shape=self.kind.name, text=self.task.inputs)

    @property
    def names(self) -> list[tuple[str, ...]]:
        """The accepted names of a row's inputs: the columns of training, then those of the task."""
        trained, others = self.trained, (self.inputs, *self.kind.other_names)
        if trained is None:
            return [*others]
        return [trained.text_columns, *(names for names in others if not inputs_fault(trained, len(names)))]

    def arranged(self, value: Any) -> tuple[Any, ...]:
        """The inputs of a row in a list; of types with a list of choices or words, these may be items of the row."""
        if not isinstance(value, list | tuple):
            return (value,)
        kind, last = type_of(self.task), len(self.inputs) - 1
        if kind is None or not kind.list_last or len(value) <= len(self.inputs):
            return tuple(value)
        return (*value[:last], list(value[last:]))

    def records(self, rows: Iterable[Any]) -> Iterator[tuple[Record, Layout]]:
        """Each row as a record with its columns; a row that the model cannot read has a fault."""
        for number, value in enumerate(rows, start=1):
            if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
                value = tuple(value)
            values, layout, what = self._cells(value if isinstance(value, Mapping) else self.arranged(value))
            fault = Finding(UNUSABLE, what) if what else None
            yield whole(Record(row=number, line=number, values=values, fault=fault)), layout

    def called(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> Row:
        """The row of a call `model(*inputs, **named)`; a single tuple or mapping is a row too.

        Raises UserError with the right call, for a wrong number of inputs and for inputs that are not text.
        """
        if type_of(self.task) is None:
            return self.task.row(*inputs, **named)
        row: Any = named or inputs
        if not named and len(inputs) == 1 and isinstance(inputs[0], tuple | Mapping):
            (row,) = inputs
        values, layout, fault = self._cells(row)
        texts = [values.get(name) for name in layout.text]
        if inputs and named:
            fault = "has inputs with and without a name"
        elif missing := [name for name in layout.text_columns if name not in values]:
            fault = f"{lacking(missing, values)}; it has {shown_names(values) or 'none'}"
        elif more := named and [name for name in values if name not in layout.inputs]:
            fault = f"has '{more[0]}', which the model does not read"
        if fault := fault or _type_fault(texts):
            return self._refuse(fault)
        (read,) = rows_of_records(self.task, [(whole(Record(row=1, line=1, values=values)), layout)])
        return self._refuse(read.error) if read.row is None else replace(read.row, id="")

    def _refuse(self, fault: str) -> Any:
        """Raises UserError with the right call."""
        count = len(self.inputs) if self.trained is None or self.kind.list_last else len(self.trained.text)
        names = ", ".join(self.inputs[:count])
        tokens = ', or model(tokens=["a", "text"])' if ("tokens",) in self.kind.other_names else ""
        row = f"({names})" if count > 1 else names
        raise UserError(
            f"{self.task.name}: the row {fault}",
            f"Write model({names}){tokens}, or model([{row}]) for a list of rows",
        )

    def _cells(self, row: Any) -> tuple[dict[str, Any], Layout, str]:
        """The cells of a row, a mapping or a tuple; the columns that are the model's inputs; the fault, or ''."""
        layout, trained = self.layout, self.trained
        if isinstance(row, Mapping):
            cells = dict(zip(column_names(list(row)), row.values(), strict=True))
            if layout is not None and {*layout.text_columns} <= {*cells}:
                label = layout.label if {*layout.label} <= {*cells} else ()
                return cells, replace(layout, id="", label=label), ""
            accepted = [*([trained.text] if trained else []), self.inputs, *self.kind.other_names]
            text = next((names for names in accepted if {*names} <= {*cells}), accepted[0])
            fault = inputs_fault(trained, len(text)) if trained and text != trained.text else ""
        else:
            cells = dict(zip(self.inputs, row, strict=False))
            text, fault = tuple(cells), inputs_fault(trained, len(row))
            if not self.needed <= len(row) <= len(self.inputs):
                fault = fault or f"has {so_many(len(row), 'input')}, and the model reads {' and '.join(self.inputs)}"
        words = any(isinstance(cells.get(name), list | tuple) for name in text)
        spans = layout.spans if layout and not words else ()  # lists of words have none
        return cells, Layout(shape=self.kind.name, text=text, spans=spans), fault

    def rows_in(self, data: Any) -> Iterable[Any]:
        """An item for each row. Raises UserError for data that holds none, and a table without the model's columns."""
        if hasattr(data, "itertuples"):  # a pandas DataFrame, checked without importing pandas
            columns = column_names(list(data.columns))
            rows = data.astype(object).where(data.notna(), None).itertuples(index=False, name=None)
        else:
            if hasattr(data, "to_pydict"):  # a pyarrow Table
                data = data.to_pydict()
            if isinstance(data, str | bytes) or not isinstance(data, Iterable):
                kind = type(data).__name__
                article = "an" if kind[0] in "aeiou" else "a"
                raise UserError(f"{article} {kind} is not rows", "Give a list of them, or a table")
            if not isinstance(data, Mapping):
                if isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
                    self._require(column_names(list(dict.fromkeys(name for row in data for name in row))))
                return data
            columns, rows = column_names(list(data)), zip(*_columns_in(data), strict=True)
        self._require(columns)
        return (dict(zip(columns, cells, strict=True)) for cells in rows)

    def _require(self, columns: Sequence[str]) -> None:
        """Raises UserError where columns are neither those of training nor named as the inputs of the task's rows."""
        accepted = self.names
        if not any({*names} <= {*columns} for names in accepted):
            named = ", ".join(['"COLUMN"'] * len(accepted[0]))
            them = f"it: text={named}" if len(accepted[0]) == 1 else f"them: text=[{named}]"
            raise UserError(
                f"the data {lacking(accepted[0], columns)}, on which the model was trained",
                f"It has {shown_names(columns)}; name {them}",
            )


def _columns_in(table: Mapping[Any, Any]) -> list[Sequence[Any]]:
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


def _type_fault(inputs: Iterable[Any]) -> str:
    """The fault of inputs that are not texts or lists of texts; else empty."""
    for value in inputs:
        parts = value if isinstance(value, list | tuple) else [value]
        if wrong := [part for part in parts if not isinstance(part, str)]:
            return f"has a value of type {type(wrong[0]).__name__}, and the model reads text"
        if not all(map(str.strip, parts)):
            return "has an empty text"
    return ""


def value_in_line(line: str) -> Any:
    """The row in a line: a JSON object by column name, or tab-separated inputs. Raises NoRow."""
    text = line.rstrip("\r\n")
    if not text.startswith("{"):
        return tuple(text.split("\t"))
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoRow(f"is not JSON ({first_line(error)})") from error


def stream_lines(stream: IO[str]) -> Iterable[str]:
    """The lines of a stream as UTF-8, whatever the locale; invalid bytes become lone surrogates."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8-sig", errors="surrogateescape", newline="\n")
    return stream
