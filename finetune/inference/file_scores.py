"""Scores a predicted file against its labels in constant memory."""

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, overload

from finetune.data.messages import places, so_many
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.task_types.columns import Layout
from finetune.task_types.parts import Answer, Scoring
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.task import Task
from finetune.task_types.types import named_type
from finetune.task_types.unknown_labels import LABELS_SHOWN, UnknownLabels

SCORED = ("gold", "answers")  # fields of a row that metrics use


class InternedRows(Sequence[Any]):
    """Rows or predictions stored as one number each; `make` rebuilds the object on access."""

    def __init__(self, make: Callable[[float], Any]) -> None:
        self.make = make
        self.numbers = array("d")

    def append(self, number: float) -> None:
        """Appends a number."""
        self.numbers.append(number)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """One object, or a list for a slice."""
        if isinstance(index, slice):
            return [self.make(number) for number in self.numbers[index]]
        return self.make(self.numbers[index])


class Repeated(list[Any]):
    """Rows or predictions, equal ones stored once."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, Any] = {}

    def append(self, one: Any) -> None:
        """Appends an object, or the equal one that is stored."""
        super().append(self.seen.setdefault(repr(one), one))


class CompactRows:
    """Rows and predictions as metrics need them: with the texts that these read alone, numbers as plain floats."""

    def __init__(self, scoring: Scoring[Any]) -> None:
        self.read = scoring.reads
        self.rows: Any = Repeated()
        self.answers: Any = Repeated()

    def append(self, row: Row, label: Any, value: Any) -> None:
        """Appends a row with its label and predicted value. If the first label is a number, all are."""
        if isinstance(label, float) and not self.rows and not self.read:
            bare = without_texts(row)
            self.rows, self.answers = (
                InternedRows(lambda one: replace(bare, gold=one)),
                InternedRows(lambda v: Answer(value=v)),
            )
        number = isinstance(self.rows, InternedRows)
        self.rows.append(label if number else without_texts(row, but=self.read))
        self.answers.append(value if number else Answer(value=value))


def scores_of(task: Task, layout: Layout, labelled: Iterable[tuple[Record, Any]], notes: list[str]) -> dict[str, float]:
    """Scores over the rows that have a label and a prediction; adds notes on those without a label, and
    with one that is unknown to the model.
    """
    unknown, unreadable = UnknownLabels(task=task, layout=layout), list[tuple[int, int]]()
    kept, kind, unlabelled = CompactRows(task.scoring), named_type(layout.shape), list[tuple[int, int]]()
    for record, cell in labelled:
        if cell is None:
            continue
        try:
            row = row_of(layout, record)
        except NoRow:
            unreadable.append((record.row, record.line))
            continue
        label = task.labels_of([row])[0].value
        if label is None:
            unlabelled.append((record.row, record.line))
        elif not unknown.adds(row, (record.row, record.line)):
            kept.append(row, label, kind.value(task, layout, cell, row))
    if unlabelled and len(kept.rows):
        where = places(unlabelled, most=LABELS_SHOWN)
        notes.append(f"{so_many(len(unlabelled))} without a label ({where}); not scored")
    if unreadable:
        where = places(unreadable, most=LABELS_SHOWN)
        notes.append(f"{so_many(len(unreadable))} with a label that cannot be read ({where}); not scored")
    notes += [f"{note}; not scored" for note in unknown.notes()]
    return task.score(kept.answers, kept.rows) if len(kept.rows) else {}


def without_texts(row: Row, *, but: Collection[str] = ()) -> Row:
    """The row with only the fields that metrics use, and those that are named."""
    empty: dict[type, Any] = {str: "", tuple: ()}
    values = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in (*SCORED, *but)}
    return replace(row, **{name: empty[type(value)] for name, value in values.items() if type(value) in empty})
