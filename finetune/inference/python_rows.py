"""Predictions for rows that are Python values, tables in memory or lines of a stream."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import IO, Any

from finetune.data.issues import Finding
from finetune.data.messages import lacking, so_many
from finetune.data.records import Record, column_names, whole
from finetune.data.rows import Row
from finetune.errors import UserError, first_line
from finetune.inference.answer_rows import ERROR, Predicts, answer_records, windows
from finetune.inference.predict_plan import shown_names
from finetune.inference.ranks import RANK, query_in, ranks_of
from finetune.runs.predictions import PREDICTION
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import UNUSABLE, NoRow
from finetune.task_types.types import inputs_fault, type_of


def answer_values(predictor: Predicts, rows: Iterable[Any] | Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Predictions for Python rows: texts, tuples of inputs, or mappings by column name; window by window as for files.

    `rows` may also be a table (a DataFrame, or a mapping of columns). Raises UserError for anything else.
    """
    given = list(_rows_in(predictor, rows))
    return with_ranks(predictor, given, [one for window in windows(given) for one in window_values(predictor, window)])


def with_ranks(predictor: Predicts, rows: Sequence[Any], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The predictions for rows, of a ranking with the place of each among those of its query."""
    if not _type_of(predictor).ranked:
        return found
    queries = [query_in(layout, values) for values, layout, _ in (_as_values(predictor, row) for row in rows)]
    ranks = ranks_of((query, one.get(PREDICTION)) for query, one in zip(queries, found, strict=True))
    return [one | ({RANK: place} if place else {}) for one, place in zip(found, ranks.places, strict=True)]


def window_values(predictor: Predicts, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """The predictions for the rows of a window."""
    records: list[Record] = []
    by_layout: dict[tuple[str, ...], tuple[Layout, list[int]]] = {}  # some may be pairs and some not
    for number, given in enumerate(rows):
        values, layout, what = _as_values(predictor, given)
        fault = Finding(UNUSABLE, what) if what else None
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
        yield window_values(predictor, [given])[0]


def stream_lines(stream: IO[str]) -> Iterable[str]:
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


def names_read(predictor: Predicts) -> list[tuple[str, ...]]:
    """The names under which the model finds a row's inputs: the columns of training first, then those of the task."""
    kind, trained = _type_of(predictor), _columns_of(predictor)
    known = kind.input_names(tuple(signature(predictor.task.row).parameters))
    first = [] if trained is None else [trained.text_columns]
    return first + [names for names in known if trained is None or not kind.inputs_fault(trained, len(names))]


def _require_columns(predictor: Predicts, columns: Sequence[str]) -> None:
    """Raises UserError where columns are neither those of training nor named as the inputs of the task's rows."""
    every = names_read(predictor)
    if any(set(names) <= set(columns) for names in every):
        return
    wanted = every[0]
    names = ", ".join(['"COLUMN"'] * len(wanted))
    them = f"it: text={names}" if len(wanted) == 1 else f"them: text=[{names}]"
    raise UserError(
        f"the data {lacking(wanted, columns)}, on which the model was trained",
        f"It has {shown_names(columns)}; name {them}",
    )


def _as_values(predictor: Predicts, given: Any) -> tuple[dict[str, Any], Layout, str]:
    """The cells of a row, which of them are the model's inputs, and what is wrong with them, if anything."""
    kind = _type_of(predictor)
    if isinstance(given, Mapping):
        return _named_values(predictor, kind, given)
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    return _placed_values(predictor, kind, arranged(predictor, tuple(given) if several else given))


def _named_values(predictor: Predicts, kind: DataType, given: Mapping[Any, Any]) -> tuple[dict[str, Any], Layout, str]:
    """As `_as_values`, for inputs by name."""
    trained = _columns_of(predictor)
    cells = dict(zip(column_names(list(given)), given.values(), strict=True))
    if predictor.layout is not None and set(predictor.layout.text_columns) <= set(cells):
        label = predictor.layout.label if set(predictor.layout.label) <= set(cells) else ()
        return cells, replace(predictor.layout, id="", label=label), ""
    every = [*([trained.text] if trained else []), *kind.input_names(tuple(signature(predictor.task.row).parameters))]
    text = next((names for names in every if set(names) <= set(cells)), every[0])
    fault = inputs_fault(trained, len(text)) if trained and text != trained.text else ""
    return cells, _layout(predictor, kind, text, cells), fault


def _placed_values(predictor: Predicts, kind: DataType, inputs: tuple[Any, ...]) -> tuple[dict[str, Any], Layout, str]:
    """As `_as_values`, for inputs in the order of `Task.row`."""
    every = signature(predictor.task.row).parameters
    names, needed = list(every), sum(one.default is one.empty for one in every.values())
    fault = inputs_fault(_columns_of(predictor), len(inputs))
    if not needed <= len(inputs) <= len(names):
        fault = fault or f"has {so_many(len(inputs), 'input')}, and the model reads {' and '.join(names)}"
    values = dict(zip(names, inputs, strict=False))
    return values, _layout(predictor, kind, tuple(values), values), fault


def _layout(predictor: Predicts, kind: DataType, text: tuple[str, ...], values: Mapping[str, Any]) -> Layout:
    """The layout of these inputs; spans of characters are those of a text, not of a list of words."""
    spans = predictor.layout.spans if predictor.layout else ()
    words = any(isinstance(values.get(name), list | tuple) for name in text)
    return Layout(shape=kind.name, text=text, spans=() if words else spans)


def _columns_of(predictor: Predicts) -> Layout | None:
    """The columns of training, or those that the task declares; None where neither is known."""
    inputs = predictor.task.inputs
    if predictor.layout is not None or not inputs:
        return predictor.layout
    return Layout(shape=_type_of(predictor).name, text=inputs)


def arranged(predictor: Predicts, given: Any) -> Any:
    """A row of a list as a tuple with one item for each input of the task; choices and words may follow one another."""
    kind, names = type_of(predictor.task), list(signature(predictor.task.row).parameters)
    if not isinstance(given, list | tuple):
        return (given,)
    return tuple(given) if kind is None else kind.arranged(tuple(given), names)


def called_row(predictor: Predicts, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> Row:
    """The row of a call `model(*inputs, **named)`, of which a single tuple or mapping is a row too.

    Raises UserError that says how to call the model, for another number of inputs and for what is not text.
    """
    kind = type_of(predictor.task)
    if kind is None:
        return predictor.task.row(*inputs, **named)
    given: Any = named or inputs
    if not named and len(inputs) == 1 and isinstance(inputs[0], tuple | Mapping):
        (given,) = inputs
    try:
        if inputs and named:
            raise NoRow("has inputs with and without a name")
        values, layout = _called_values(predictor, kind, given)
        if named and (more := [name for name in values if name not in layout.inputs]):
            raise NoRow(f"has '{more[0]}', which the model does not read")
        row: Row = row_of(kind.without_labels(layout, predictor.task), whole(Record(row=1, line=1, values=values)))
        fault = predictor.task.fault(row)
    except NoRow as why:
        fault = str(why)
    if fault:
        raise UserError(f"{predictor.task.name}: the row {fault}", how_to_call(predictor, kind))
    return replace(row, id="")


def _called_values(predictor: Predicts, kind: DataType, given: Any) -> tuple[dict[str, Any], Layout]:
    """The cells of a called row and its layout. Raises NoRow for missing inputs, and for those that are not text."""
    if isinstance(given, Mapping):
        values, layout, fault = _named_values(predictor, kind, given)
        if missing := [name for name in layout.text_columns if name not in values]:
            fault = f"{lacking(missing, values)}; it has {shown_names(values) or 'none'}"
    else:
        values, layout, fault = _placed_values(predictor, kind, given)
    if fault := fault or _type_fault([values[name] for name in layout.text]):
        raise NoRow(fault)
    return values, layout


def how_to_call(predictor: Predicts, kind: DataType) -> str:
    """What to write instead of a call with wrong inputs."""
    columns = _columns_of(predictor)
    example = kind.example(columns and kind.fitted(columns, predictor.task))
    words = ("tokens",) in kind.input_names(tuple(signature(predictor.task.row).parameters))
    tokens = ', or model(tokens=["a", "text"])' if words else ""
    row = f"({example})" if ", " in example else example
    return f"Write model({example}){tokens}, or model([{row}]) for a list of rows"


def _type_fault(inputs: Iterable[Any]) -> str:
    """What is wrong with inputs that are no texts, nor lists of them; empty where nothing is."""
    for given in inputs:
        parts = given if isinstance(given, list | tuple) else [given]
        if wrong := [part for part in parts if not isinstance(part, str)]:
            return f"has a value of type {type(wrong[0]).__name__}, and the model reads text"
        if not all(part.strip() for part in parts):
            return "has an empty text"
    return ""


def _type_of(predictor: Predicts) -> DataType:
    """The type of the model's rows. Raises UserError if it is unknown."""
    kind = type_of(predictor.task)
    if kind is None:
        raise UserError(f"the task {predictor.task.name} has no known data type", "Call the model with a row's inputs")
    return kind
