"""A check, and one split as the checks see it: the text and label of each row, and values that several share."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finetune.checks.finding import MOST_ROWS, FileFinding
from finetune.data.characters import text_keys
from finetune.data.issues import Finding, Issue
from finetune.data.records import Record
from finetune.data.table import Table
from finetune.data.values import is_missing
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType
from finetune.task_types.row_builder import rows_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.types import named_type


@dataclass(frozen=True, kw_only=True)
class SplitFile:
    """The file of one split: for each of its rows the text that goes into the model, and the label.

    `by_column` is the column that says which rows are dev, if they are not in a file of their own. `unusable` holds the
    index of each row that the layout cannot use, with the reason; its text is empty. `units` must not be in two splits:
    texts, contexts, queries. `unlabelled` says why a test file counts as one without labels.
    """

    split: str
    layout: Layout
    table: Table
    texts: Sequence[str]
    units: Sequence[str]
    golds: Sequence[Any]
    unusable: Sequence[tuple[int, Finding]]
    by_column: str = ""
    unlabelled: str = ""

    @property
    def file(self) -> str:
        """The file's name."""
        return str(self.table.path)

    @property
    def kind(self) -> DataType:
        """The task type's data type."""
        return named_type(self.layout.shape).for_layout(self.layout)

    @property
    def thing(self) -> str:
        """What must not be in two splits, as a noun in the plural."""
        return self.kind.units_are

    @property
    def size(self) -> int:
        """Rows of the file, including unreadable ones."""
        return len(self.texts) + len(self.table.faults)

    @property
    def trains(self) -> bool:
        """Whether it is the training split."""
        return self.split == "train"

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """A hash of each text `(rows,)`, equal for texts that `same_text` makes equal; 0 for one that is too short."""
        return text_keys(map(self.kind.long_enough, self.texts))

    @cached_property
    def unit_keys(self) -> NDArray[np.int64]:
        """A hash of each unit `(rows,)`."""
        return self.keys if self.units is self.texts else text_keys(map(self.kind.long_enough, self.units))

    @cached_property
    def label_counts(self) -> Counter[str]:
        """Number of rows by label."""
        kind = self.kind
        return Counter(label for gold in self.golds for label in kind.labels_in(gold))

    def rows_with(self, labels: Iterable[str]) -> list[int]:
        """Indexes of the rows with one of these labels."""
        wanted, kind = set(labels), self.kind
        return [index for index, gold in enumerate(self.golds) if not wanted.isdisjoint(kind.labels_in(gold))]

    def has(self, columns: Iterable[str]) -> bool:
        """Whether the file has all of these columns."""
        return all(name in self.table.columns for name in columns)

    def found(
        self,
        issue: Issue,
        indexes: Sequence[int] | NDArray[Any] = (),
        *,
        what: str = "",
        remedy: str = "",
        worst: bool = False,
    ) -> FileFinding:
        """A finding for the rows with these indexes; `what` and `remedy` replace the issue's own texts."""
        first = [int(index) for index in islice(indexes, MOST_ROWS)]
        places = [(self.table.rows[index], self.table.lines[index]) for index in first]
        return self._finding(issue, places, len(indexes), what, remedy, worst=worst)

    def found_in(self, records: Sequence[Record], issue: Issue, what: str, *, worst: bool = False) -> FileFinding:
        """A finding for records that are not in the table."""
        places = [(record.row, record.line) for record in records[:MOST_ROWS]]
        return self._finding(issue, places, len(records), what, worst=worst)

    def _finding(
        self, issue: Issue, places: Sequence[tuple[int, int]], count: int, what: str, remedy: str = "", *, worst: bool
    ) -> FileFinding:
        """Each of its texts is one line: a newline in a column's name is written as an escape."""
        return FileFinding(
            severity=(worst and issue.worst) or issue.severity,
            code=issue.code,
            what=(what or issue.meaning).replace("\n", "\\u000a"),
            remedy=(remedy or issue.remedy).replace("\n", "\\u000a"),
            file=self.file,
            rows=tuple(row for row, _ in places),
            lines=tuple(line for _, line in places),
            count=count,
        )


def part_of(split: str, layout: Layout, table: Table, *, by_column: str = "", unlabelled: str = "") -> SplitFile:
    """A table as a Part of this split. Raises UserError for one whose labels are written in another way."""
    kind = named_type(layout.shape)
    layout = replace(layout, label=()) if unlabelled else layout
    kind.require_alike(layout, table)
    texts: list[str] = []
    units: list[str] = []
    golds: list[Any] = []
    unusable: list[tuple[int, Finding]] = []
    for index, row in rows_of(layout, table):
        if isinstance(row, NoRow):
            unusable.append((index, row.fault))
        texts.append("" if isinstance(row, NoRow) else row.input)
        units.append("" if isinstance(row, NoRow) else kind.compared(row, layout.markers))
        golds.append(None if isinstance(row, NoRow) else row.gold)
    return SplitFile(
        split=split, layout=layout, table=table, texts=texts, units=texts if units == texts else units, golds=golds,
        unusable=unusable, by_column=by_column, unlabelled=unlabelled,
    )  # fmt: skip


def labelled(part: SplitFile) -> bool:
    """Whether any row of the file has a label."""
    return part.has(part.layout.label[:1]) and any(
        not is_missing(cell)
        for name in part.layout.label
        if name in part.table.columns
        for cell in part.table.columns[name]
    )


Find = Callable[[Sequence[SplitFile]], Iterable[FileFinding]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """`find` is called with all splits and reports some of `issues`; with `refuses`, `run` stops on its errors.

    `run` says its other errors and warnings first, unless these are `noted`: in a note of the run, or its diagnosis.
    """

    find: Find
    issues: tuple[Issue, ...]
    refuses: bool = False
    noted: bool = False


def in_each(find: Callable[[SplitFile], Iterable[FileFinding]]) -> Find:
    """A check of one split, applied to each split that has the text columns."""

    def find_in_each(parts: Sequence[SplitFile]) -> Iterator[FileFinding]:
        for part in _with_texts(parts):
            yield from find(part)

    return find_in_each


def across(find: Find) -> Find:
    """A check across splits, applied to those that have the text columns."""
    return lambda parts: find(_with_texts(parts))


def _with_texts(parts: Sequence[SplitFile]) -> list[SplitFile]:
    return [part for part in parts if part.has(part.layout.text)]
