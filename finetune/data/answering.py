"""From records to records with answers: what cannot be answered keeps its place, with an error that says why."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any

from finetune.data.cells import NoRow, row_of
from finetune.data.layout import Layout
from finetune.data.own import shape_of
from finetune.data.reading import SURROGATE, Record
from finetune.errors import UserError, first_line
from finetune.task import Answer, Row

if TYPE_CHECKING:
    from finetune.predictor import Predictor

ERROR = "error"


def answer_records(
    predictor: "Predictor", layout: Layout, records: Sequence[Record], *, taken: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Each record's own cells and the answer's; `taken` are names of columns that the answers must not use."""
    bare = replace(layout, label=())
    done: list[dict[str, Any]] = [dict(record.values) for record in records]
    rows: list[Row] = []
    places: list[int] = []
    for place, record in enumerate(records):
        try:
            row = row_of(bare, record)
            if fault := predictor.task.fault(row):
                raise NoRow(fault)
        except NoRow as fault:
            done[place][ERROR] = str(fault)
            continue
        rows.append(row)
        places.append(place)
    for place, row, answer in zip(places, rows, _answers(predictor, rows), strict=True):
        if isinstance(answer, str):
            done[place][ERROR] = answer
        else:
            cells = predictor.task.cells(answer, row)
            done[place].update({free_name(name, taken): cell for name, cell in cells.items()})
    return done


def free_name(name: str, taken: Collection[str]) -> str:
    """The name of a column of answers: `answer`, or `predicted answer` where there is such a column already."""
    while name in taken:
        name = f"predicted {name}"
    return name


def answer_values(predictor: "Predictor", rows: Iterable[Any]) -> list[dict[str, Any]]:
    """The answers to rows as Python has them: texts, tuples of inputs, or mappings by the columns' names."""
    records = []
    layouts: list[Layout] = []
    for number, given in enumerate(rows, start=1):
        values, layout = _as_values(predictor, given)
        fault = _unwritable(values)
        records.append(Record(row=number, line=number, values={} if fault else values, fault=fault))
        layouts.append(layout)
    if not records:
        return []
    if len({layout.text for layout in layouts}) == 1:
        found = answer_records(predictor, layouts[0], records)
    else:  # some are pairs and some are not
        found = [answer_records(predictor, lay, [record])[0] for lay, record in zip(layouts, records, strict=True)]
    return [
        {name: cell for name, cell in new.items() if name not in r.values}
        for new, r in zip(found, records, strict=True)
    ]


def answer_lines(predictor: "Predictor", lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The answer to each line, as soon as it came: a JSON object by the columns' names, or inputs parted by tabs."""
    for line in lines:
        text = line.rstrip("\r\n")
        given: Any = tuple(text.split("\t"))
        if text.startswith("{"):
            try:
                given = json.loads(text)
            except ValueError as error:
                yield {ERROR: f"is not JSON ({first_line(error)})"}
                continue
        yield answer_values(predictor, [given])[0]


def _as_values(predictor: "Predictor", given: Any) -> tuple[dict[str, Any], Layout]:
    """The cells of a row, and which of them the model reads."""
    shape = shape_of(predictor.task)
    if shape is None:
        raise UserError(f"the task {predictor.task.name} has a shape of its own", "Call the model with a row's inputs")
    trained = predictor.layout
    names = list(signature(predictor.task.row).parameters)
    if isinstance(given, Mapping):
        if trained is not None and set(trained.text) <= set(given):
            return dict(given), replace(trained, id="")
        return dict(given), Layout(shape=shape, text=tuple(name for name in names if name in given) or tuple(names[:1]))
    inputs = (given,) if isinstance(given, str) else tuple(given)
    if len(inputs) > len(names):
        if shape == "tagging":
            inputs = (list(inputs),)
        else:
            raise UserError(f"a row has {len(inputs)} inputs", f"Give it {', '.join(names)}")
    return dict(zip(names, inputs, strict=False)), Layout(shape=shape, text=tuple(names[: len(inputs)]))


def _unwritable(values: Mapping[str, Any]) -> str:
    halves = any(isinstance(cell, str) and not cell.isascii() and SURROGATE.search(cell) for cell in values.values())
    return "has half a character (a lone surrogate)" if halves else ""


def _answers(predictor: "Predictor", rows: Sequence[Row]) -> list[Answer | str]:
    """An answer to each row; where a row keeps the others from being answered, each by itself, with its error."""
    try:
        return list(predictor.answers(rows))
    except (UserError, ValueError, TypeError, OverflowError) as error:
        if len(rows) == 1:
            return [error.what if isinstance(error, UserError) else first_line(error)]
    return [answer for row in rows for answer in _answers(predictor, [row])]
