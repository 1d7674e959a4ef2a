"""Scores of a predicted file that has the gold, in little memory however many rows it has."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, overload

from finetune.data.messages import so_many
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import NoRow
from finetune.task_types.row_builder import row_of
from finetune.task_types.task import Answer, Task
from finetune.task_types.types import named_type

SCORED = ("gold", "answers")  # the fields of rows that scores are made of


class Numbers(Sequence[Any]):
    """Rows or answers that are a number each: the numbers alone are kept, and `make` gives the rest when asked."""

    def __init__(self, make: Callable[[float], Any]) -> None:
        self.make = make
        self.numbers = array("d")

    def append(self, number: float) -> None:
        """Adds one at the end."""
        self.numbers.append(number)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """One, or a list of some."""
        if isinstance(index, slice):
            return [self.make(number) for number in self.numbers[index]]
        return self.make(self.numbers[index])


class Repeated(list[Any]):
    """Rows or answers of which equal ones are kept once."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, Any] = {}

    def append(self, one: Any) -> None:
        """Adds one at the end, or the equal one that is there."""
        super().append(self.seen.setdefault(repr(one), one))


class Kept:
    """Rows and answers as scores need them: without texts, and of numbers the numbers alone."""

    def __init__(self) -> None:
        self.rows: Any = Repeated()
        self.answers: Any = Repeated()

    def append(self, row: Row, gold: Any, value: Any) -> None:
        """Adds one at the end. Where the first gold is a number, all are."""
        if isinstance(gold, float) and not self.rows:
            bare = without_texts(row)
            self.rows, self.answers = Numbers(lambda one: replace(bare, gold=one)), Numbers(lambda v: Answer(value=v))
        number = isinstance(self.rows, Numbers)
        self.rows.append(gold if number else without_texts(row))
        self.answers.append(value if number else Answer(value=value))


def scores_of(task: Task, layout: Layout, labelled: Iterable[tuple[Record, Any]], notes: list[str]) -> dict[str, float]:
    """The task's scores over the rows that have both gold and answer; a note says which labels were not known."""
    strange: list[int] = []
    kept, kind = Kept(), named_type(layout.shape)
    for record, cell in labelled:
        if cell is None:
            continue
        try:
            row = row_of(layout, record)
        except NoRow:
            strange.append(record.row)
            continue
        gold = task.gold([row])[0].value
        if gold is not None and not task.fits(gold, row):
            strange.append(record.row)
        elif gold is not None:
            kept.append(row, gold, kind.value(task, layout, cell, row))
    if strange:
        have = f"{so_many(len(strange))}, first {strange[0]}, with a label"
        notes.append(f"{have} that the model does not know: not scored")
    return task.score(kept.answers, kept.rows) if len(kept.rows) else {}


def without_texts(row: Row) -> Row:
    """The row with what it is scored by alone."""
    empty: dict[type, Any] = {str: "", tuple: ()}
    values = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in SCORED}
    return replace(row, **{name: empty[type(value)] for name, value in values.items() if type(value) in empty})
