"""One split as the checks see it, and a finding with the places of its rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finetune.data.characters import text_keys
from finetune.data.issues import Finding, Severity
from finetune.data.table import Table
from finetune.data.values import is_missing
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.findings import SplitRows
from finetune.task_types.own_type import OwnType
from finetune.task_types.shared_rows import compared_text
from finetune.task_types.types import named_type, rows_of

MOST_ROWS = 1_000  # row numbers that a finding keeps


@dataclass(frozen=True, kw_only=True)
class FileFinding:
    """An issue in a file: what it is (`what`) and how to fix it (`remedy`).

    `rows` and `lines` number the first of its `count` rows; both are empty for an issue of the whole file.
    """

    severity: Severity
    code: str
    what: str
    remedy: str
    file: str
    rows: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    count: int = 0

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON values."""
        facts = asdict(self)
        return {"severity": facts.pop("severity"), "code": facts.pop("code"), "message": facts.pop("what"), **facts}


@dataclass(frozen=True, kw_only=True)
class SplitFile(SplitRows):
    """The file of one split, of a type of data.

    `before` are the splits before it that have the columns of the texts, the training file first. `by_column` is the
    column that says which rows are dev, if they are not in a separate file. `unusable` has the index of each row that
    the layout cannot use, with the reason. `units` must not be in two splits: texts, contexts, queries. `unlabelled` is
    the reason why a test file counts as one without labels.
    """

    kind: OwnType
    units: Sequence[str]
    unusable: Sequence[tuple[int, Finding]]
    before: Sequence["SplitFile"] = ()
    by_column: str = ""
    unlabelled: str = ""

    @property
    def file(self) -> str:
        """The file's name."""
        return str(self.table.path)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """A hash of each text `(rows,)`, equal for texts that `same_text` makes equal; 0 for one that is too short."""
        return text_keys(text if unit else "" for text, unit in zip(self.texts, self.units, strict=True))

    @cached_property
    def unit_keys(self) -> NDArray[np.int64]:
        """A hash of each unit `(rows,)`."""
        return self.keys if self.units is self.texts else text_keys(self.units)

    def rows_with(self, labels: Iterable[str]) -> list[int]:
        """Indexes of the rows with one of these labels."""
        names = set(labels)
        return [index for index, gold in enumerate(self.golds) if not names.isdisjoint(self.kind.labels_in(gold))]

    def has(self, columns: Iterable[str]) -> bool:
        """Whether the file has all of these columns."""
        return all(name in self.table.columns for name in columns)

    def placed(self, finding: Finding) -> FileFinding:
        """A finding with its rows and lines in this file; a newline in a column's name is written as an escape."""
        issue, table = finding.issue, self.table
        rows, lines = list[int](), list[int]()
        for index in map(int, islice(finding.indexes, MOST_ROWS)):
            record = table.faults[index - len(table)] if index >= len(table) else None
            rows.append(record.row if record else table.rows[index])
            lines.append(record.line if record else table.lines[index])
        return FileFinding(
            severity=(finding.worst and issue.worst) or issue.severity,
            code=issue.code,
            what=(finding.what or issue.meaning).replace("\n", "\\u000a"),
            remedy=(finding.remedy or issue.remedy).replace("\n", "\\u000a"),
            file=self.file,
            rows=tuple(rows),
            lines=tuple(lines),
            count=len(finding.indexes),
        )


def part_of(split: str, layout: Layout, table: Table, *, unlabelled: str = "", **others: Any) -> SplitFile:
    """A table as this split. Raises UserError for labels that are written in another way."""
    kind = named_type(layout.shape)
    layout = replace(layout, label=()) if unlabelled else layout
    kind.as_written(layout, table)
    texts, units, golds = list[str](), list[str](), list[Any]()
    unusable = list[tuple[int, Finding]]()
    for index, row in rows_of(layout, table):
        text, unit, gold = "", "", None
        if isinstance(row, NoRow):
            unusable.append((index, row.fault))
        else:
            text, unit, gold = row.input, compared_text(kind, row, layout.markers), row.gold
        texts.append(text)
        units.append(unit)
        golds.append(gold)
    counts = Counter(label for gold in golds for label in {*kind.labels_in(gold)})
    return SplitFile(
        split=split, layout=layout, table=table, texts=texts, units=texts if units == texts else units, golds=golds,
        label_counts=counts, kind=kind, unusable=unusable, unlabelled=unlabelled, **others,
    )  # fmt: skip


def labelled(part: SplitFile) -> bool:
    """Whether any row of the file has a label."""
    columns = part.table.columns
    cells = (cell for name in part.layout.label if name in columns for cell in columns[name])
    return part.has(part.layout.label[:1]) and not all(map(is_missing, cells))
