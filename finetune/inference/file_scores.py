"""Scores of a predicted file that has the gold, in little memory however many rows it has."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, overload

from finetune.data.messages import so_many
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.task_types.choice.task import ChoiceTask
from finetune.task_types.columns import Layout
from finetune.task_types.row_builder import NoRow, row_of
from finetune.task_types.sentence.task import SentenceRow, SentenceTask
from finetune.task_types.tagging.char_spans import spans_of, tags_for
from finetune.task_types.task import Answer, Task

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


def scores_of(task: Task, layout: Layout, labelled: Iterable[tuple[Record, Any]], notes: list[str]) -> dict[str, float]:
    """The task's scores over the rows that have both gold and answer; a note says which labels were not known."""
    strange: list[int] = []
    kept: tuple[Any, Any] = (Repeated(), Repeated())
    number = isinstance(task, SentenceTask) and task.regression
    if number:
        kept = Numbers(lambda gold: SentenceRow(id="", text="", gold=gold)), Numbers(lambda v: Answer(value=v))
    place = task.place if isinstance(task, ChoiceTask) else None
    for record, value in labelled:
        if value is None:
            continue
        try:
            row = row_of(layout, record)
        except NoRow:
            strange.append(record.row)
            continue
        if layout.spans:
            value = list(tags_for(row.words, row.starts, spans_of(value, layout.spans, row.text).spans)[0])
        gold = task.gold([row])[0].value
        if gold is not None and not task.fits(gold, row):
            strange.append(record.row)
        elif gold is not None:
            kept[0].append(gold if number else without_texts(row))
            kept[1].append(value if number else Answer(value=place(value) if place else value))
    if strange:
        have = f"{so_many(len(strange))}, first {strange[0]}, with a label"
        notes.append(f"{have} that the model does not know: not scored")
    rows, answers = kept
    return task.score(answers, rows) if len(rows) else {}


def without_texts(row: Row) -> Row:
    """The row with what it is scored by alone."""
    empty: dict[type, Any] = {str: "", tuple: ()}
    values = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in SCORED}
    return replace(row, **{name: empty[type(value)] for name, value in values.items() if type(value) in empty})
