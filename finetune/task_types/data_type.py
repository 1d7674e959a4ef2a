"""DataType: the contract of a type of own data, from a table's columns to rows, a task, and a view of predictions.

A new type is a folder with its task, head, columns and view, and one line in `types.py`; a plugin names a subclass of
`DataType` as an entry point of the group `finetune.task_types`.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from finetune.data.characters import same_text
from finetune.data.column_types import ColumnFacts
from finetune.data.issues import Fault, Issue
from finetune.data.messages import shown
from finetune.data.rows import OwnRow
from finetune.data.table import Table
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.remarks import Remark, SplitRows
from finetune.task_types.row_issues import UNUSABLE
from finetune.task_types.task import Answer, Task
from finetune.task_types.view import View

Clean = Callable[[str], str]
MOST_VALUES = 12  # of a label, in a summary
LONG = 100  # characters of a text that is shown


class NoRow(Exception):
    """Why a record makes no row, in words that follow `row 5`; `fault` has the issue too."""

    def __init__(self, what: str, issue: Issue = UNUSABLE) -> None:
        super().__init__(what)
        self.fault = Fault(what, issue)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a guess is made from: a table, the facts of its columns, and the columns that the user named, by role.

    `shape` is the name of the type where the user gave it; then that type alone is asked.
    """

    table: Table
    facts: Mapping[str, ColumnFacts]
    chosen: Mapping[str, list[str]]
    shape: str | None = None
    decimal: Literal[".", ","] | None = None

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """The cells of each column."""
        return self.table.columns

    @property
    def file(self) -> str:
        """The file's name, for messages."""
        return str(self.table.path)


class DataType(ABC):
    """What own data of a type is. `name` is the value of the setting `shape`.

    `task_class` is the class of its tasks, `view` shows its predictions in a report. `inputs` is an example of the
    settings that name its columns; with `by_text` these are looked for also where the user named the texts but not the
    type, and with `any_columns` a model reads another number of them than in training.

    `named`: labels are names of a closed set; `respelled`: they are texts whose spelling may vary; `labels_rows`: each
    row has one gold as a whole; `empty_is_label`: so has an empty cell. `labels_are` and `units_are` are the words for
    labels and for what must be in one split alone; a text with fewer than `least_words` may come again.

    `batch_size` and `max_length` are those of the starting recipe; a `max_length` of None is fitted to the texts.
    `capped` is the option of its tasks that says how many tokens of the first input are read. `issues` are what its
    `remarks` may have, and `row_issues` why `row` raises NoRow, each with the shared ones.
    """

    name: ClassVar[str]
    task_class: ClassVar[type[Task]]
    view: ClassVar[type[View]]
    inputs: ClassVar[str]
    named: ClassVar[bool] = False
    labels_are: ClassVar[str] = "labels"
    units_are: ClassVar[str] = "texts"
    least_words: ClassVar[int] = 1
    respelled: ClassVar[bool] = False
    labels_rows: ClassVar[bool] = False
    empty_is_label: ClassVar[bool] = False
    capped: ClassVar[str] = ""
    by_text: ClassVar[bool] = False
    any_columns: ClassVar[bool] = False
    batch_size: ClassVar[int] = 16
    max_length: ClassVar[int | None] = None
    issues: ClassVar[tuple[Issue, ...]] = ()
    row_issues: ClassVar[tuple[Issue, ...]] = ()

    # From columns to a layout.

    @abstractmethod
    def find(self, evidence: Evidence) -> Layout | None:
        """The columns that look like this type's; None where none do. Raises UserError where several could be meant."""

    def guess(self, evidence: Evidence) -> Layout | None:
        """The layout by `find`, with the columns that the user named; None where the data is of another type.

        Raises UserError as `find` does, and where the user named this type but not its columns, which are not found.
        """
        chosen, asked = evidence.chosen, evidence.shape is not None
        if not asked and "text" in chosen and not self.by_text:
            return None
        found = self.find(evidence)
        if found is None and asked and "text" not in chosen:
            raise UserError(
                f"{evidence.file}: which columns a {self.name} task reads is not clear",
                f"Name them: text={self.inputs}",
            )
        text = tuple(chosen.get("text") or (found.text if found else ()))
        if not asked and (found is None or text != found.text):
            return None
        label = tuple(chosen.get("label") or (found.label if found else ()))
        if found is None and "label" not in chosen:
            label = self.other_label(evidence, text)
        reasons = {} if asked or found is None else dict(found.reasons)
        reasons |= {role: "given" for role in ("text", "label") if chosen.get(role)}
        return replace(found or Layout(shape=self.name, text=text), text=text, label=label, reasons=reasons)

    def other_label(self, evidence: Evidence, text: Sequence[str]) -> tuple[str, ...]:
        """The label's column where the user named the type and its texts, and `find` found nothing."""
        return ()

    def completed(self, layout: Layout, evidence: Evidence) -> Layout:
        """The layout with what the cells of its columns say."""
        return layout

    # Labels.

    def nameable(self, layout: Layout) -> bool:
        """Whether labels may be numbers in the data that have names elsewhere."""
        return self.named and len(layout.label) == 1

    def written(self, layout: Layout, cell: Any) -> list[str]:
        """The labels in a cell as they are written there."""
        return []

    def names(self, layout: Layout, cell: Any) -> Iterable[str]:
        """The labels in a cell by their names."""
        return map(layout.named, self.written(layout, cell))

    def labels_in(self, gold: Any) -> tuple[str, ...]:
        """The labels in a row's gold, which may be None, each once."""
        return ()

    def summary(self, golds: Sequence[Any]) -> str:
        """How often each label comes, the most frequent ones first."""
        counts = self.tally(golds)
        listed = ", ".join(f"{shown(name)[1:-1]} {count:,}" for name, count in counts.most_common(MOST_VALUES))
        return (listed or "none") + (f", and {len(counts) - MOST_VALUES:,} more" if len(counts) > MOST_VALUES else "")

    def tally(self, golds: Sequence[Any]) -> Counter[str]:
        """How often each label comes in golds that are known."""
        return Counter(label for gold in golds for label in self.labels_in(gold) or ("no label",))

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """What is done to labels as they are read, in words, each with the indexes of the rows."""
        return {}

    def remarks(self, rows: SplitRows) -> Iterable[Remark]:
        """What a user should know of the rows of a file before training; the issues are `issues` or shared ones."""
        return ()

    # Cells and rows.

    def needed(self, layout: Layout) -> tuple[str, ...]:
        """The columns without which a record makes no row."""
        return layout.text

    def spoiled(self, layout: Layout, values: Mapping[str, Any]) -> str:
        """Why a record with all needed cells makes no row once it is fixed, in words after `rows dropped`; or empty."""
        return ""

    def fixed(self, layout: Layout, values: dict[str, Any], clean: Clean, done: list[str]) -> dict[str, Any]:
        """A record with its texts and labels cleaned, each by `clean`; what else is done is added to `done`."""
        for name in (*layout.text, *layout.label):
            cell = values.get(name)
            if isinstance(cell, str):
                values[name] = clean(cell)
            elif isinstance(cell, list):
                values[name] = [clean(item) if isinstance(item, str) else item for item in cell]
        return values

    def sequences(
        self, layout: Layout, table: Table, texts: Sequence[str], rows: Sequence[int]
    ) -> tuple[list[str], list[str] | None]:
        """What a tokenizer gets for some rows: their texts, and the other halves where they are pairs."""
        return [texts[row] for row in rows], None

    def truncates(self, layout: Layout) -> bool:
        """Whether a row that is too long loses its end; else it is read in windows."""
        return False

    @abstractmethod
    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> OwnRow:
        """The row in a record's cells, its gold None where the label is missing. Raises NoRow."""

    def facts(self, row: Any) -> dict[str, str]:
        """A row as it was read, by the names of its parts: what the model reads, and what it is to answer."""
        return {"text": shown(row.input, LONG), "label": "none" if row.gold is None else str(row.gold)}

    def unit(self, row: Any) -> str:
        """What rows that must stay in one split have in common."""
        return same_text(row.input)

    def units(self, layout: Layout, table: Table, texts: Sequence[str]) -> Sequence[str]:
        """What must be in one split alone, for each row of a table; `texts` is all that the model reads of it."""
        return texts

    def strata(self, golds: Sequence[Any]) -> Sequence[Any]:
        """For each gold what train and dev should have alike shares of."""
        return [""] * len(golds)

    # Tasks and their answers.

    @abstractmethod
    def task(self, layout: Layout, *, name: str, read: Any = None) -> Task:
        """The task that a layout describes; without a reader it only predicts."""

    def fits(self, task: Task) -> bool:
        """Whether a task's model can read data of this type."""
        return isinstance(task, self.task_class)

    def arranged(self, inputs: tuple[Any, ...], names: Sequence[str]) -> tuple[Any, ...]:
        """The inputs of a row, one for each of the names that `Task.row` has for them."""
        return inputs

    def inputs_fault(self, layout: Layout, count: int) -> str:
        """What is wrong with so many inputs for a model that was trained on a layout, in words; empty where nothing."""
        return ""

    def cells(self, task: Task, layout: Layout, answer: Answer, row: Any) -> dict[str, Any]:
        """An answer as cells of a predicted file, by the column's name."""
        return task.cells(answer, row)

    def value(self, task: Task, layout: Layout, cell: Any, row: Any) -> Any:
        """The value of an answer in a cell that `cells` gave under the name `answer`."""
        return cell


def short(cell: Any) -> str:
    """A cell for a message."""
    text = repr(cell)
    return text if len(text) < 40 else text[:37] + "..."
