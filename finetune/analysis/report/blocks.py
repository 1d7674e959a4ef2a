"""The content of a page as plain data: blocks with a chart, a table, a matrix, or rows with their texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from finetune.task_types.marked_text import Part


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells as texts; the first `left` columns are words, the others numbers. `strong` are indices of rows.

    `folded` rows are collapsed until clicked.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    strong: Sequence[int] = ()
    folded: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Confusion matrix: counts by label (down) and prediction (across); `shares` of the label's count, 0 to 1."""

    down: Sequence[str]
    across: Sequence[str]
    counts: Sequence[Sequence[int]]
    shares: Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class ShownRow:
    """A row of the data: its texts, label, prediction, and facts such as the confidence.

    `right` is None for regression.
    """

    id: str
    parts: Sequence[Part]
    label: str = ""
    prediction: str = ""
    facts: Sequence[str] = ()
    right: bool | None = False


@dataclass(frozen=True, kw_only=True)
class Block:
    """A title, a note on how to read it, and its content. A `wide` block spans the page."""

    title: str
    note: str = ""
    chart: Markup | None = None
    table: Table | None = None
    matrix: Matrix | None = None
    shown: Sequence[ShownRow] = ()
    wide: bool = False


@dataclass(frozen=True, kw_only=True)
class Section:
    """Blocks under a heading; `level` is 2 for a run, 3 for a split of it. `link` is a short title."""

    id: str
    title: str
    blocks: Sequence[Block]
    link: str = ""
    level: int = 2
    note: str = ""
