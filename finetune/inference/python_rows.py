"""Rows that are Python values, tables in memory or lines of a stream, as records with their columns."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from inspect import signature
from typing import IO, Any

from finetune.data.issues import Finding
from finetune.data.messages import lacking, so_many
from finetune.data.records import Record, column_names, whole
from finetune.data.rows import Row
from finetune.errors import UserError, first_line
from finetune.inference.predict_plan import shown_names
from finetune.task_types.columns import Layout
from finetune.task_types.own_type import OwnType
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import UNUSABLE, NoRow
from finetune.task_types.task import Task
from finetune.task_types.types import inputs_fault, type_of


class PythonRows:
    """How the rows of a task are given in Python: by the columns of training (`layout`) or of the task, by the names of
    `Task.row`, or in the order of these.
    """

    def __init__(self, task: Task, layout: Layout | None) -> None:
        self.task, self.layout = task, layout
        parameters = signature(task.row).parameters
        self.inputs = tuple(parameters)
        self.needed = sum(one.default is one.empty for one in parameters.values())

    @cached_property
    def kind(self) -> OwnType:
        """The type of the rows. Raises UserError if it is unknown."""
        if (kind := type_of(self.task)) is None:
            raise UserError(f"the task {self.task.name} has no known data type", "Call the model with a row's inputs")
        return kind

    @cached_property
    def trained(self) -> Layout | None:
        """The columns of training, or those that the task declares; None where neither is known."""
        if self.layout is not None or not self.task.inputs:
            return self.layout
        return Layout(shape=self.kind.name, text=self.task.inputs)

    @property
    def names(self) -> list[tuple[str, ...]]:
        """The names under which a row's inputs are found: the columns of training first, then those of the task."""
        trained, others = self.trained, (self.inputs, *self.kind.other_names)
        if trained is None:
            return [*others]
        return [trained.text_columns, *(names for names in others if not inputs_fault(trained, len(names)))]

    def arranged(self, given: Any) -> tuple[Any, ...]:
        """A row of a list with one item for each input of the task; choices and words may follow one another."""
        if not isinstance(given, list | tuple):
            return (given,)
        kind, last = type_of(self.task), len(self.inputs) - 1
        if kind is None or not kind.list_last or len(given) <= len(self.inputs):
            return tuple(given)
        return (*given[:last], list(given[last:]))

    def records(self, rows: Iterable[Any]) -> Iterator[tuple[Record, Layout]]:
        """Each row as a record with its columns; one that the model cannot read has a fault."""
        for number, given in enumerate(rows, start=1):
            values, layout, what = self._values(given)
            fault = Finding(UNUSABLE, what) if what else None
            yield whole(Record(row=number, line=number, values=values, fault=fault)), layout

    def called(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> Row:
        """The row of a call `model(*inputs, **named)`, of which a single tuple or mapping is a row too.

        Raises UserError that says how to call the model, for another number of inputs and for what is not text.
        """
        if type_of(self.task) is None:
            return self.task.row(*inputs, **named)
        given: Any = named or inputs
        if not named and len(inputs) == 1 and isinstance(inputs[0], tuple | Mapping):
            (given,) = inputs
        try:
            if inputs and named:
                raise NoRow("has inputs with and without a name")
            by_name = isinstance(given, Mapping)
            values, layout, fault = self._by_name(given) if by_name else self._by_place(given)
            if by_name and (missing := [name for name in layout.text_columns if name not in values]):
                fault = f"{lacking(missing, values)}; it has {shown_names(values) or 'none'}"
            if fault := fault or _type_fault([values[name] for name in layout.text]):
                raise NoRow(fault)
            if named and (more := [name for name in values if name not in layout.inputs]):
                raise NoRow(f"has '{more[0]}', which the model does not read")
            bare = replace(self.kind.fitted(layout, self.task), label=())
            row: Row = row_of(bare, whole(Record(row=1, line=1, values=values)))
            fault = self.task.fault(row)
        except NoRow as why:
            fault = str(why)
        if fault:
            raise UserError(f"{self.task.name}: the row {fault}", self._how_to_call())
        return replace(row, id="")

    def _how_to_call(self) -> str:
        count = len(self.inputs) if self.trained is None or self.kind.list_last else len(self.trained.text)
        names = ", ".join(self.inputs[:count])
        tokens = ', or model(tokens=["a", "text"])' if ("tokens",) in self.kind.other_names else ""
        row = f"({names})" if count > 1 else names
        return f"Write model({names}){tokens}, or model([{row}]) for a list of rows"

    def _values(self, given: Any) -> tuple[dict[str, Any], Layout, str]:
        """The cells of a row, which of them are the model's inputs, and what is wrong with them, if anything."""
        if isinstance(given, Mapping):
            return self._by_name(given)
        several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
        return self._by_place(self.arranged(tuple(given) if several else given))

    def _by_name(self, given: Mapping[Any, Any]) -> tuple[dict[str, Any], Layout, str]:
        trained = self.trained
        cells = dict(zip(column_names(list(given)), given.values(), strict=True))
        if self.layout is not None and set(self.layout.text_columns) <= set(cells):
            label = self.layout.label if set(self.layout.label) <= set(cells) else ()
            return cells, replace(self.layout, id="", label=label), ""
        every = [*([trained.text] if trained else []), self.inputs, *self.kind.other_names]
        text = next((names for names in every if set(names) <= set(cells)), every[0])
        fault = inputs_fault(trained, len(text)) if trained and text != trained.text else ""
        return cells, self._columns(text, cells), fault

    def _by_place(self, inputs: tuple[Any, ...]) -> tuple[dict[str, Any], Layout, str]:
        fault = inputs_fault(self.trained, len(inputs))
        if not self.needed <= len(inputs) <= len(self.inputs):
            fault = fault or f"has {so_many(len(inputs), 'input')}, and the model reads {' and '.join(self.inputs)}"
        values = dict(zip(self.inputs, inputs, strict=False))
        return values, self._columns(tuple(values), values), fault

    def _columns(self, text: tuple[str, ...], values: Mapping[str, Any]) -> Layout:
        """The layout of inputs; spans of characters are those of a text, not of a list of words."""
        words = any(isinstance(values.get(name), list | tuple) for name in text)
        return Layout(shape=self.kind.name, text=text, spans=self.layout.spans if self.layout and not words else ())

    def rows_in(self, given: Any) -> Iterable[Any]:
        """An item for each row. Raises UserError for what holds no rows, and a table without the model's columns."""
        if hasattr(given, "itertuples"):  # a pandas DataFrame, checked without importing pandas
            cells = given.astype(object).where(given.notna(), None).itertuples(index=False, name=None)
            return self._rows_of_table(list(given.columns), cells)
        if hasattr(given, "to_pydict"):  # a pyarrow Table
            given = given.to_pydict()
        if isinstance(given, Mapping):
            return self._rows_of_table(list(given), zip(*_columns_in(given), strict=True))
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            kind = type(given).__name__
            article = "an" if kind[0] in "aeiou" else "a"
            raise UserError(f"{article} {kind} is not rows", "Give a list of them, or a table")
        if isinstance(given, Sequence) and given and all(isinstance(row, Mapping) for row in given):
            self._require(column_names(list(dict.fromkeys(name for row in given for name in row))))
        rows: Iterable[Any] = given
        return rows

    def _rows_of_table(self, names: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Iterable[dict[str, Any]]:
        columns = column_names(names)
        self._require(columns)
        return (dict(zip(columns, cells, strict=True)) for cells in rows)

    def _require(self, columns: Sequence[str]) -> None:
        """Raises UserError where columns are neither those of training nor named as the inputs of the task's rows."""
        every = self.names
        if any(set(names) <= set(columns) for names in every):
            return
        names = ", ".join(['"COLUMN"'] * len(every[0]))
        them = f"it: text={names}" if len(every[0]) == 1 else f"them: text=[{names}]"
        raise UserError(
            f"the data {lacking(every[0], columns)}, on which the model was trained",
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
    """What is wrong with inputs that are no texts, nor lists of them; empty where nothing is."""
    for given in inputs:
        parts = given if isinstance(given, list | tuple) else [given]
        if wrong := [part for part in parts if not isinstance(part, str)]:
            return f"has a value of type {type(wrong[0]).__name__}, and the model reads text"
        if not all(part.strip() for part in parts):
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
    """A stream's lines, as UTF-8 whatever the locale; invalid bytes become lone surrogates."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8-sig", errors="surrogateescape", newline="\n")
    return stream
