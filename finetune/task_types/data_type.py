"""DataType: the contract of a task type for user data, from columns to rows, a task, and predictions.

A new type is a folder with its task, head and columns, and one line in `types.py`; a plugin names a subclass of
`DataType` as an entry point of the group `finetune.task_types`.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from finetune.data.characters import same_text
from finetune.data.column_types import ColumnFacts
from finetune.data.issues import Finding, Issue
from finetune.data.messages import shown
from finetune.data.rows import OwnRow
from finetune.data.table import Table
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.findings import SplitRows
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import Line, Predictions, one_label
from finetune.task_types.task import Task

Clean = Callable[[str], str]
MOST_VALUES = 12  # values of a label in a summary
TEXT_CHARS_SHOWN = 100  # characters of a displayed text


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The input of a guess: a table, the facts of its columns, and the columns that the user named, by role.

    `shape` is the name of the type where the user gave it; then only that type guesses. `marked`, `markers` and
    `span_ends` are as in `Layout`, where the texts have two spans; their columns are not in `facts`.
    """

    table: Table
    facts: Mapping[str, ColumnFacts]
    chosen: Mapping[str, list[str]]
    shape: str | None = None
    decimal: Literal[".", ","] | None = None
    choices_by: str = ""
    marked: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    span_ends: Literal["", "inclusive", "exclusive"] = ""
    spans_given: bool = False

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """The cells of each column."""
        return self.table.columns

    @property
    def file(self) -> str:
        """The file's name, for messages."""
        return str(self.table.path)

    def without(self, names: Collection[str]) -> "Evidence":
        """What is known of the other columns."""
        columns = {name: cells for name, cells in self.table.columns.items() if name not in names}
        facts = {name: fact for name, fact in self.facts.items() if name not in names}
        return replace(self, table=replace(self.table, columns=columns), facts=facts)


class DataType(ABC):
    """A task type for user data. `name` is the value of the setting `shape`, `answers` what a prediction is, in words.

    `task_class` is the class of its tasks, `label_is` what a label is in saved predictions, and `parts_are` what its
    items are if it is a list: by these a type is known where a run does not name it. `inputs` is an example of the
    settings that name its columns; with `by_text` columns are also searched where the user named the texts but not the
    type, and with `any_columns` a model can read another number of them than in training.

    `closed_labels`: labels are from a closed set; `respelled`: they are texts whose spelling may vary; `labels_rows`:
    each row has one label as a whole; `droppable`: the rows of a label may be left out; `empty_is_label`: an empty cell
    is a label too. `labels_are` and `units_are` are the words for labels and for what must be in one split only; a text
    with fewer than `least_words` may be repeated.

    `label_in_parts`: several label columns are the parts of one label, in their order, not labels with 0 and 1 each.
    `pooled`: its heads read a vector of the text. `batch_size` and `max_length` are those of the starting recipe; a
    `max_length` of None is fitted to the texts. `marks`: texts may have two marked spans. `issues` are those that its
    `findings` may report, and `row_issues` the reasons for which `row` raises NoRow, each with the shared ones.
    """

    name: ClassVar[str]
    answers: ClassVar[str] = ""
    task_class: ClassVar[type[Task]]
    label_is: ClassVar[tuple[type, ...]] = ()
    parts_are: ClassVar[type] = str
    inputs: ClassVar[str]
    closed_labels: ClassVar[bool] = False
    labels_are: ClassVar[str] = "labels"
    units_are: ClassVar[str] = "texts"
    least_words: ClassVar[int] = 1
    respelled: ClassVar[bool] = False
    labels_rows: ClassVar[bool] = False
    droppable: ClassVar[bool] = False
    empty_is_label: ClassVar[bool] = False
    label_in_parts: ClassVar[bool] = False
    pooled: ClassVar[bool] = False
    marks: ClassVar[bool] = False
    by_text: ClassVar[bool] = False
    any_columns: ClassVar[bool] = False
    batch_size: ClassVar[int] = 16
    max_length: ClassVar[int | None] = None
    issues: ClassVar[tuple[Issue, ...]] = ()
    row_issues: ClassVar[tuple[Issue, ...]] = ()

    # From columns to a layout.

    @abstractmethod
    def find(self, evidence: Evidence) -> Layout | None:
        """Finds columns that look like this type's; None where none do. Raises UserError where several fit."""

    def guess(self, evidence: Evidence) -> Layout | None:
        """The layout from `find`, with the columns that the user named; None where the data is of another type.

        Raises UserError as `find` does, and where the user named this type and its columns are not found.
        """
        chosen, asked = evidence.chosen, evidence.shape is not None
        if not asked and "text" in chosen and not self.by_text:
            return None
        found = self.find(evidence)
        if found is None and asked and "text" not in chosen:
            raise UserError(
                f"{evidence.file}: cannot infer the columns of the task type {self.name}",
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
        """The layout, completed from the cells of its columns."""
        return layout

    def with_spelling(self, layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Layout:
        """The layout with how labels are written in these columns, in which predictions are written too."""
        return layout

    def require_alike(self, layout: Layout, table: Table) -> None:
        """Raises UserError for a file whose labels are written in another way than the layout says."""
        return

    def decisive(self, layout: Layout) -> Layout:
        """The part of a layout that decides the result of a run, as the rows do."""
        return layout

    # Labels.

    def may_be_numbers(self, layout: Layout) -> bool:
        """Whether labels may be numbers in the data that have names elsewhere."""
        return self.closed_labels and len(layout.label) == 1

    def labels_as_spelled(self, layout: Layout, cell: Any) -> list[str]:
        """The labels in a cell as spelled there."""
        return []

    def label_names(self, layout: Layout, cell: Any) -> Iterable[str]:
        """The labels in a cell by their names."""
        return map(layout.named, self.labels_as_spelled(layout, cell))

    def names_in(self, layout: Layout, column: str, cell: Any) -> Iterable[str]:
        """The labels in a cell of one of the label's columns by their names."""
        return self.label_names(layout, cell)

    def for_layout(self, layout: Layout) -> "DataType":
        """The type whose `labels_in` and `facts` name labels as the file of this layout does."""
        return self

    def labels_in(self, gold: Any) -> tuple[str, ...]:
        """The distinct labels of a row, none where it has no label."""
        return ()

    def unlike(
        self, layout: Layout, counts: Mapping[str, int], texts: Iterable[str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """(the labels that look like mistakes, those that may be right), of those with so many rows each, with the
        reason; rows of the former are left out.
        """
        return {}, {}

    def summary(self, golds: Sequence[Any]) -> str:
        """A summary of label counts, the most frequent first."""
        counts = self.tally(golds)
        listed = ", ".join(f"{shown(name)[1:-1]} {count:,}" for name, count in counts.most_common(MOST_VALUES))
        return (listed or "none") + (f", and {len(counts) - MOST_VALUES:,} more" if len(counts) > MOST_VALUES else "")

    def tally(self, golds: Sequence[Any]) -> Counter[str]:
        """Counts each label, over rows that have one."""
        return Counter(label for gold in golds for label in self.labels_in(gold) or ("no label",))

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """Changes made to labels while reading, and doubts about them, in words, each with the indexes of the rows."""
        return {}

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        """Findings on the rows of a file before training; their issues are `issues` or shared ones."""
        return ()

    # Cells and rows.

    def needed(self, layout: Layout) -> tuple[str, ...]:
        """The columns without which a record makes no row."""
        return layout.text

    def spoiled(self, layout: Layout, values: Mapping[str, Any]) -> str:
        """Why a record with all needed cells makes no row after fixing, in words after `rows dropped`; may be empty."""
        return ""

    def fixed(self, layout: Layout, values: dict[str, Any], clean: Clean, done: list[str]) -> dict[str, Any]:
        """A record with its texts and labels cleaned by `clean`; other changes are added to `done`."""
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
        """The tokenizer's input for some rows: their texts, and the second texts where they are pairs."""
        return [texts[row] for row in rows], None

    def truncates(self, layout: Layout) -> bool:
        """Whether a row that is too long is truncated; else it is read in windows."""
        return False

    def without_labels(self, layout: Layout, task: Task) -> Layout:
        """The layout of rows to predict for a task, whose labels are not read."""
        return replace(self.fitted(layout, task), label=())

    def fitted(self, layout: Layout, task: Task) -> Layout:
        """The layout of rows for a trained task, which may read less of them than they have."""
        return layout

    @abstractmethod
    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> OwnRow:
        """The row from a record's cells, its `gold` None where the label is missing. Raises NoRow."""

    def facts(self, row: Any) -> dict[str, str]:
        """A row as it was read, by the names of its parts: the inputs and the label."""
        return {"text": shown(row.input, TEXT_CHARS_SHOWN), "label": "none" if row.gold is None else str(row.gold)}

    def unit(self, row: Any) -> str:
        """The key that rows which must stay in one split share."""
        return same_text(row.input)

    def long_enough(self, text: str) -> str:
        """A text that must be in one split only; empty for one that is so short that it may be repeated."""
        return text if text.count(" ") + 1 >= self.least_words else ""

    def compared(self, row: Any, markers: tuple[str, ...] = ()) -> str:
        """The text of a row that must be in one split only; `markers` are those of its two spans."""
        return row.input  # type: ignore[no-any-return]

    def strata(self, golds: Sequence[Any]) -> Sequence[Any]:
        """For each label its stratum, of which train and dev get equal shares."""
        return [""] * len(golds)

    def row_strata(self, rows: Sequence[Any]) -> Sequence[Any]:
        """For each row its stratum: that of its label."""
        return self.strata([row.gold for row in rows])

    # Tasks and their predictions.

    @abstractmethod
    def task(self, layout: Layout, *, name: str, read: Any = None) -> Task:
        """The task that a layout describes; without a reader it is for prediction only."""

    def reads_for(self, task: Task) -> bool:
        """Whether a task's model can read data of this type."""
        return isinstance(task, self.task_class)

    def arranged(self, inputs: tuple[Any, ...], names: Sequence[str]) -> tuple[Any, ...]:
        """The inputs of a row, one for each of the names that `Task.row` has for them."""
        return inputs

    def input_names(self, names: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """All names under which the inputs of a row may be given, of which `names` are those of `Task.row`."""
        return [names]

    def example(self, layout: Layout | None) -> str:
        """The inputs of a row in Python, as an example for a model that was trained on a layout."""
        return '"a text"'

    def inputs_fault(self, layout: Layout, count: int) -> str:
        """What is wrong with so many inputs for a model that was trained on a layout, in words; empty if nothing."""
        return ""

    def cells(self, task: Task, layout: Layout, answer: Answer, row: Any) -> dict[str, Any]:
        """A prediction as cells of an output file, by the column's name."""
        return task.cells(answer, row)

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """The table of labelled lines of a split, by default of one label each; `names` are those of probabilities.

        A task is there where it is known, and lines may lack all but a row's fields, its label and prediction.
        """
        return one_label(lines, names=names)

    def value(self, task: Task, layout: Layout, cell: Any, row: Any) -> Any:
        """The value of a prediction, from a cell that `cells` wrote in the column `prediction`."""
        return cell
