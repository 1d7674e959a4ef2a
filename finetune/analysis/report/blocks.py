"""What a page is made of, as plain data: cards with a chart, a table, a matrix, or rows with their texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from finetune.task_types.marked_text import Part


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells as texts; the first `left` columns are words, the others figures. `strong` are numbers of rows.

    `folded` are rows that are seen once they are asked for.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    strong: Sequence[int] = ()
    folded: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Counts by gold (down) and answer (across); `shares` are of the gold's, from 0 to 1."""

    down: Sequence[str]
    across: Sequence[str]
    counts: Sequence[Sequence[int]]
    shares: Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A row of the data: its texts, its gold and its answer in words, and facts such as how sure the model is.

    `right` is None where answers are neither right nor wrong, but near or far.
    """

    id: str
    parts: Sequence[Part]
    gold: str = ""
    answer: str = ""
    facts: Sequence[str] = ()
    right: bool | None = False


@dataclass(frozen=True, kw_only=True)
class Card:
    """A title, words on how to read it, and what is there of the rest. A wide one takes the width of the page."""

    title: str
    note: str = ""
    chart: Markup | None = None
    table: Table | None = None
    matrix: Matrix | None = None
    shown: Sequence[Shown] = ()
    wide: bool = False


@dataclass(frozen=True, kw_only=True)
class Section:
    """Cards under a heading; `level` is 2 for a run, 3 for a split of it. `link` is a short title."""

    id: str
    title: str
    cards: Sequence[Card]
    link: str = ""
    level: int = 2
    note: str = ""
