"""What a page is made of, as plain data: blocks with a chart, a table, a matrix, or rows with their texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from finetune.task_types.marked_text import Part


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells as texts; the first `left` columns are words, the others numbers. `strong` are indices of rows.

    `folded` are rows that are shown on request.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    strong: Sequence[int] = ()
    folded: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Counts by label (down) and prediction (across); `shares` are of the label's count, from 0 to 1."""

    down: Sequence[str]
    across: Sequence[str]
    counts: Sequence[Sequence[int]]
    shares: Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class ShownRow:
    """A row of the data: its texts, its label and prediction in words, and facts such as the confidence.

    `right` is None for numbers, which are neither right nor wrong.
    """

    id: str
    parts: Sequence[Part]
    label: str = ""
    prediction: str = ""
    facts: Sequence[str] = ()
    right: bool | None = False


@dataclass(frozen=True, kw_only=True)
class Block:
    """A title, a note on how to read it, and its content. A wide one takes the width of the page."""

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
