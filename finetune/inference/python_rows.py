"""Predictions for rows that are Python values, tables in memory or lines of a stream."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import IO, Any

from finetune.data.issues import Fault
from finetune.data.messages import lacking, so_many
from finetune.data.records import Record, column_names, whole
from finetune.errors import UserError, first_line
from finetune.inference.answer_rows import ERROR, Predicts, answer_records, windows
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType
from finetune.task_types.row_issues import UNUSABLE
from finetune.task_types.types import inputs_fault, type_of


def answer_values(predictor: Predicts, rows: Iterable[Any] | Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Predictions for Python rows: texts, tuples of inputs, or mappings by column name; window by window as for files.

    `rows` may also be a table (a DataFrame, or a mapping of columns). Raises UserError for anything else.
    """
    return [one for window in windows(_rows_in(predictor, rows)) for one in _window_values(predictor, window)]


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
