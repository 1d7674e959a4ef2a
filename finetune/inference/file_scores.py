"""Scores a predicted file against its labels in constant memory."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

from finetune.data.messages import places, so_many
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.task_types.columns import Layout
from finetune.task_types.parts import Answer
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.task import Task
from finetune.task_types.types import named_type
from finetune.task_types.unknown_labels import LABELS_SHOWN, UnknownLabels

SCORED = ("gold", "answers")  # fields of a row that metrics use


class CompactRows(Sequence[Any]):
    """Rows or predictions in little memory: of each a number as it is, or a value of which equal ones are stored once;
    `make` makes of it what is read.
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make
        self.values = list[Any]()
        self.once = dict[str, Any]()

    def append(self, value: Any) -> None:
        """Appends a value."""
        self.values.append(value if isinstance(value, float) else self.once.setdefault(repr(value), value))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        """One object, or a list for a slice."""
        return list(map(self.make, self.values[index])) if isinstance(index, slice) else self.make(self.values[index])


def scores_of(task: Task, layout: Layout, labelled: Iterable[tuple[Record, Any]], notes: list[str]) -> dict[str, float]:
    """Scores over the rows that have a label and a prediction; adds notes on those without a label, and
    with one that is unknown to the model.
    """
    unknown, kind, reads = UnknownLabels(task=task, layout=layout), named_type(layout.shape), task.scoring.reads
    unreadable, unlabelled = list[tuple[int, int]](), list[tuple[int, int]]()
    bare: Row | None = None  # where labels are numbers, and nothing else of a row is read
    rows = CompactRows(lambda value: replace(bare, gold=value) if bare else value)
    answers = CompactRows(lambda value: Answer(value=value))
    for record, cell in labelled:
        if cell is None:
            continue
        try:
            row = row_of(layout, record)
        except NoRow:
            unreadable.append((record.row, record.line))
            continue
        label = task.scoring.labels([row])[0].value
        if label is None:
            unlabelled.append((record.row, record.line))
        elif not unknown.adds(row, (record.row, record.line)):
            if isinstance(label, float) and not rows and not reads:
                bare = without_texts(row)
            rows.append(label if bare else without_texts(row, but=reads))
            answers.append(kind.value(task, layout, cell, row))
    if unlabelled and rows:
        where = places(unlabelled, most=LABELS_SHOWN)
        notes.append(f"{so_many(len(unlabelled))} without a label ({where}); not scored")
    if unreadable:
        where = places(unreadable, most=LABELS_SHOWN)
        notes.append(f"{so_many(len(unreadable))} with a label that cannot be read ({where}); not scored")
    notes += [f"{note}; not scored" for note in unknown.notes()]
    return task.scoring.score(answers, rows) if rows else {}


def without_texts(row: Row, *, but: Collection[str] = ()) -> Row:
    """The row with only the fields that metrics use, and those that are named."""
    empty: dict[type, Any] = {str: "", tuple: ()}
    values = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in (*SCORED, *but)}
    return replace(row, **{name: empty[type(value)] for name, value in values.items() if type(value) in empty})
