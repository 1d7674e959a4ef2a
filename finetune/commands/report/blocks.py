"""The content of a page as plain data: blocks with a chart, a table, a matrix, code, or rows with their texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from finetune.task_types.marked_text import TextPart


@dataclass(frozen=True, kw_only=True)
class TableBlock:
    """Cells as texts; the first `left` columns are words, the others numbers. `strong` are indices of rows.

    `folded` rows are collapsed until clicked, and `foot` rows, such as means, stay below the others. A table that
    `sorts` can be sorted by a click on a column's name.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    strong: Sequence[int] = ()
    folded: Sequence[Sequence[str]] = ()
    foot: Sequence[Sequence[str]] = ()
    sorts: bool = False


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Confusion matrix: counts by label (down) and prediction (across); `shares` of the label's count, 0 to 1.

    Cells link to the rows with the id `rows`, if there are any, by the places of label and prediction among the names
    that these know; None for a cell that cannot be shown so.
    """

    down: Sequence[str]
    across: Sequence[str]
    counts: Sequence[Sequence[int]]
    shares: Sequence[Sequence[float]]
    rows: str = ""
    links: Sequence[Sequence[tuple[int, int] | None]] = ()


@dataclass(frozen=True, kw_only=True)
class WordWeight:
    """A piece of a row's text, and what it adds to the prediction: -1 to 1, positive for it."""

    text: str
    weight: float


@dataclass(frozen=True, kw_only=True)
class ShownRow:
    """A row of the data: its texts, label, prediction, and facts such as the confidence.

    `right` is None for regression. `weights` are the pieces of its text in order, drawn with a coloured background.
    """

    id: str
    parts: Sequence[TextPart]
    label: str = ""
    prediction: str = ""
    facts: Sequence[str] = ()
    right: bool | None = False
    weights: Sequence[WordWeight] = ()


@dataclass(frozen=True, kw_only=True)
class RowTable:
    """Rows to search, filter, sort and page through.

    `data` is JSON for the page's script, `first` the rows shown before it runs, and `words` names the first sort key.
    Labels and predictions are numbers in `data`; `errors` and `suspects` count rows, `least` the least believed labels
    in the list.
    """

    id: str
    data: Mapping[str, Any]
    first: Sequence[ShownRow]
    words: str
    labels: Sequence[tuple[str, int]]
    predictions: Sequence[tuple[str, int]]
    slices: Sequence[tuple[str, Sequence[str]]]
    bounded: bool
    errors: int
    suspects: int
    least: int

    @property
    def marks(self) -> list[str]:
        """The kinds of marks in the texts of the first rows, which a legend explains."""
        every = (one.mark for row in self.first for part in row.parts for one in part.segments if one.mark)
        return list(dict.fromkeys(every))

    @property
    def weighted(self) -> bool:
        """Whether rows have weights of their words, which a legend explains."""
        return any(row.weights for row in self.first)


@dataclass(frozen=True, kw_only=True)
class Code:
    """Something to copy, and what it is for."""

    what: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Block:
    """A title, a note on how to read it, and its content. A `wide` block spans the page.

    `hint` follows the note, and is not printed: what a click does. A `folded` block is in the rest of its section.
    """

    title: str
    note: str = ""
    hint: str = ""
    chart: Markup | None = None
    table: TableBlock | None = None
    matrix: Matrix | None = None
    shown: Sequence[ShownRow] = ()
    rows: RowTable | None = None
    points: Sequence[str] = ()
    code: Sequence[Code] = ()
    wide: bool = False
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Section:
    """Blocks under a heading; `level` is 2 for a run, 3 for a split of it. `link` is a short title, and
    `more` the title of what is folded.

    A `folded` section is collapsed until clicked.
    """

    id: str
    title: str
    blocks: Sequence[Block]
    link: str = ""
    more: str = ""
    level: int = 2
    note: str = ""
    folded: bool = False

    @property
    def opened(self) -> "Section":
        """With the blocks that are read first."""
        return replace(self, blocks=[block for block in self.blocks if not block.folded])

    def rest(self, title: str) -> Iterator["Section"]:
        """A folded section with the other blocks, if there are any."""
        blocks = [block for block in self.blocks if block.folded]
        if blocks:
            yield replace(self, id=f"{self.id}-rest", title=title, link="", note="", blocks=blocks, folded=True)

    @property
    def groups(self) -> list[list[tuple[int, Block]]]:
        """The blocks with their numbers from 1: those side by side together, each wide one alone."""
        found: list[list[tuple[int, Block]]] = []
        for number, block in enumerate(self.blocks, start=1):
            if block.wide or not found or found[-1][-1][1].wide:
                found.append([])
            found[-1].append((number, block))
        return found
