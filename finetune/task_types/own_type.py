"""OwnType: the contract of a task type for a user's own table, from columns to rows, a task, and predictions.

A new type is a folder with its task, head and own-data side, and one line in `types.py`; a plugin names a subclass of
`OwnType` as an entry point of the group `finetune.task_types`.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import islice
from typing import Any, ClassVar, Literal

from finetune.data.characters import same_text
from finetune.data.column_types import ColumnFacts
from finetune.data.issues import Finding, Issue
from finetune.data.messages import shown
from finetune.data.rows import OwnRow
from finetune.data.table import Table
from finetune.data.values import is_missing
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.findings import SplitRows
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import Line, Predictions, one_label
from finetune.task_types.task import Task

TEXT_CHARS_SHOWN = 100  # characters of a displayed text
PARTS_OF_NUMBERS = 10  # strata of numbers


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

    def filled(self, name: str, most: int | None = None) -> list[Any]:
        """The first cells of a column that are not empty, all by default."""
        return list(islice((cell for cell in self.table.columns[name] if not is_missing(cell)), most))

    def rows(self, names: Iterable[str], most: int | None = None) -> list[tuple[Any, ...]]:
        """The cells of these columns in the first rows in which none is empty, all by default."""
        rows = zip(*(self.table.columns[name] for name in names), strict=True)
        return list(islice((row for row in rows if not any(map(is_missing, row))), most))

    def without(self, names: Collection[str]) -> "Evidence":
        """What is known of the other columns."""
        columns = {name: cells for name, cells in self.table.columns.items() if name not in names}
        facts = {name: fact for name, fact in self.facts.items() if name not in names}
        return replace(self, table=replace(self.table, columns=columns), facts=facts)


class OwnType(ABC):
    """A task type for a user's own table. `name` is the value of the setting `shape`, `task_class` the class of its
    tasks, and `label_is` the types that a saved label has, or a list of labels and its items.

    In Python a row's inputs are named as in `Task.row`, or in `other_names`; with `list_last` the last one is a list,
    and a table may have any number of columns for it. `closed_labels`: labels are from a closed set; `labels_rows`:
    each row has one label as a whole, which is predicted from the vector of a text. `batch_size` and `max_length` are
    those of the starting recipe; a `max_length` of None is fitted to the texts. `issues` are those that its
    `findings` may report, and those for which `row` may raise NoRow, besides the shared ones.
    """

    name: ClassVar[str]
    task_class: ClassVar[type[Task]]
    label_is: ClassVar[tuple[type, ...]] = ()
    other_names: ClassVar[tuple[tuple[str, ...], ...]] = ()
    list_last: ClassVar[bool] = False
    closed_labels: ClassVar[bool] = False
    labels_rows: ClassVar[bool] = False
    batch_size: ClassVar[int] = 16
    max_length: ClassVar[int | None] = None
    issues: ClassVar[tuple[Issue, ...]] = ()

    @abstractmethod
    def find(self, evidence: Evidence) -> Layout | None:
        """The layout of a table, with the columns that the user named; None where it is not of this type.

        Raises UserError where several columns fit, and where the user named this type and its columns are not found.
        """

    @abstractmethod
    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> OwnRow:
        """The row from a record's cells, its `gold` None where the label is missing. Raises NoRow."""

    @abstractmethod
    def task(self, layout: Layout, *, name: str, read: Any = None) -> Task:
        """The task that a layout describes; without a reader it is for prediction only."""

    def as_written(self, layout: Layout, table: Table) -> Layout:
        """The layout with how this file writes its labels. Raises UserError where that contradicts the layout."""
        return layout

    def fitted(self, layout: Layout, task: Task) -> Layout:
        """The layout of rows for a trained task, which may read less of them than they have."""
        return layout

    def labels_in(self, gold: Any) -> Sequence[str]:
        """The labels of a row, each as often as the row has it; none where it has no label."""
        if gold is None or not self.closed_labels:
            return ()
        return (gold,) if isinstance(gold, str) else tuple(gold)

    def label_words(self, row: Any) -> str:
        """A row's label as it was read, in words."""
        if row.gold is None:
            return "none"
        if isinstance(row.gold, float):
            return f"{row.gold:g}"
        return shown(", ".join(self.labels_in(row.gold)) or "no label", TEXT_CHARS_SHOWN)[1:-1]

    def unit(self, row: Any) -> str:
        """The key that rows which must stay in one split share."""
        return same_text(row.input)

    def compared(self, row: Any) -> str:
        """The text of a row that must not be in two splits."""
        return row.input  # type: ignore[no-any-return]

    def strata(self, rows: Sequence[Any]) -> Sequence[Any]:
        """For each row its stratum, of which train and dev get equal shares: its label, or the tenth of a number."""
        golds = [row.gold for row in rows]
        if not self.labels_rows:
            return [""] * len(golds)
        if golds and all(isinstance(gold, float) for gold in golds):
            ranks = {value: rank for rank, value in enumerate(sorted(golds))}
            parts = max(1, min(PARTS_OF_NUMBERS, len(golds) // 2))  # of few numbers each part has two
            return [parts * ranks[value] // len(golds) for value in golds]
        counts = Counter(golds) if self.closed_labels else Counter[Any]()
        return [gold if counts[gold] > 1 or isinstance(gold, str) else "" for gold in golds]

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """Changes made to texts and labels while reading, in words, each with the indexes of the rows."""
        return {}

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        """Findings on the rows of a file before training; their issues are `issues` or shared ones."""
        return ()

    def cells(self, task: Task, layout: Layout, answer: Answer, row: Any) -> dict[str, Any]:
        """A prediction as cells of an output file, by the column's name."""
        return task.cells(answer, row)

    def value(self, task: Task, layout: Layout, cell: Any, row: Any) -> Any:
        """The value of a prediction, from a cell that `cells` wrote in the column `prediction`."""
        return cell

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """The table of labelled lines of a split, by default of one label each; `names` belong to the probabilities.

        A task is there where it is known, and lines may lack all but a row's fields, its label and prediction.
        """
        return one_label(lines, names=names)


def inputs_of(kind: OwnType) -> tuple[str, ...]:
    """The names of a row's inputs, as `Task.row` has them; `input` where a task has no such method."""
    named = [
        parameter.name
        for parameter in signature(kind.task_class.row).parameters.values()
        if parameter.kind != parameter.VAR_POSITIONAL
    ]
    return tuple(named[1:]) or ("input",)


def counts_of_labels(kind: OwnType, golds: Iterable[Any]) -> Counter[str]:
    """Counts each label, over rows that have one; where a row has one label as a whole also rows without any."""
    none = ("no label",) if kind.labels_rows else ()
    return Counter(label for gold in golds for label in kind.labels_in(gold) or none)


def with_chosen(kind: OwnType, evidence: Evidence, layout: Layout | None) -> Layout | None:
    """A layout of columns that a type found, with the columns that the user named; None for data of another type.

    Raises UserError where the user named this type, but no texts, and its columns were not found.
    """
    chosen, asked = evidence.chosen, evidence.shape is not None
    if layout is None and asked and "text" not in chosen:
        raise UserError(
            f"{evidence.file}: cannot infer the columns of the task type {kind.name}",
            f"Name them: text={','.join(inputs_of(kind)).upper()} label=COLUMN",
        )
    text = tuple(chosen.get("text") or (layout.text if layout else ()))
    if not asked and (layout is None or text != layout.text):
        return None
    label = tuple(chosen.get("label") or (layout.label if layout else ()))
    reasons = {} if asked or layout is None else dict(layout.reasons)
    reasons |= {role: "given" for role in ("text", "label") if chosen.get(role)}
    return replace(layout or Layout(shape=kind.name, text=text), text=text, label=label, reasons=reasons)
