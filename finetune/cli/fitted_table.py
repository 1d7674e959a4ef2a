"""Tables that fit the width of the console without cutting anything.

The first form that fits is printed: the whole table; without empty columns; with short names; with constant columns in
the title; without borders; with names folded over several lines. Where none fits, it is a list of `name: value`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

from finetune.cli.table_lines import Lines, longest_source, longest_word, wrapped
from finetune.cli.terminal import one_line, printable

LEAST_TEXT = 16  # characters of a column of words
LEAST_NAME = 8  # characters of a column of names that are folded

TextCell = str | Text
CellRow = Sequence[TextCell]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: its heading, and what may be done to make a table fit. Numbers and ids are never folded.

    `words` may be wrapped, `names` be folded where nothing else helps, and `short` gives a shorter form of a cell;
    one that `stays` is not taken into the title where its cells are equal.
    """

    name: str
    right: bool = False
    words: bool = False
    names: bool = False
    stays: bool = False
    short: Callable[[str], str] | None = None

    @property
    def heading(self) -> str:
        """The name in one line."""
        return one_line(self.name)


def columns(*names: str, right: Sequence[str] = ()) -> list[Column]:
    """Columns by their headings; those of `right` are aligned to the right."""
    return [Column(name=name, right=name in right) for name in names]


@dataclass(frozen=True, kw_only=True)
class FittedTable:
    """Rows of cells under headings; a row that is one string is the title of the rows below it.

    Without `headed` the first cell of a row names it. `ruled` separates rows by lines. `notes` are printed below.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[CellRow | str]
    notes: Sequence[str] = ()
    headed: bool = True
    ruled: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The first form that fits, with control characters escaped."""
        headings = [replace(column, name=column.heading) for column in self.columns]
        rows = [printable(row) if isinstance(row, str) else tuple(map(_printable, row)) for row in self.rows]
        yield from replace(self, columns=headings, rows=rows)._rendered(console, options)

    def _rendered(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table, boxed, folded in _forms(self):
            if (widths := table._widths(options.max_width, boxed=boxed, folded=folded)) is not None:
                break
        yield from _wrapped(table.title, "table.title", console, options.max_width)
        if widths is None:
            yield from _listed(table, console, options.max_width)
        else:
            lines = Lines(console=console, options=options, widths=widths, boxed=boxed, ruled=table.ruled)
            headings = [column.name for column in table.columns] if table.headed else None
            yield from lines.of(headings, table.rows, right=[column.right for column in table.columns])
        for note in table.notes:
            yield from _wrapped(note, "table.caption", console, options.max_width)

    def _widths(self, available: int, *, boxed: bool, folded: bool) -> list[int] | None:
        """The width of each column; None where they need more than is available."""
        count = len(self.columns)
        room = available - (3 * count + 1 if boxed else 2 * (count - 1))
        cells = [[row[index] for row in self.rows if not isinstance(row, str)] for index in range(count)]
        whole, least, headings = [], [], []
        for column, given in zip(self.columns, cells, strict=True):
            natural, heading = max(map(_width, given), default=0), column.name if self.headed else ""
            least_name = max(LEAST_NAME, longest_source(map(str, given))) if column.names and folded else natural
            smallest = LEAST_TEXT if column.words else least_name
            least.append(max(min(natural, smallest), longest_word(heading)))
            whole.append(max(natural, least[-1]))
            headings.append(max(whole[-1], cell_len(heading)))
        return None if sum(least) > room else _widened(_widened(least, whole, room), headings, room)

    def _without_empty(self) -> "FittedTable":
        """Without the columns that have no cell."""
        rows = [row for row in self.rows if not isinstance(row, str)]
        filled = [any(map(str, cells)) for cells in zip(*rows, strict=True)]
        return self._with_columns([index for index, any_cell in enumerate(filled) if any_cell or not index])

    def _without_constant(self) -> "FittedTable":
        """With the columns that have the same cell in all rows in the title, but not those of numbers."""
        rows = [row for row in self.rows if not isinstance(row, str)]
        if len(rows) < 2 or not self.headed:
            return self
        kept, constant = [], []
        for index, cells in enumerate(zip(*rows, strict=True)):
            column = self.columns[index]
            same = len({str(cell) for cell in cells}) == 1 and not (column.right or column.stays)
            constant += [f"{column.name} {cells[0]}".strip()] * (same and bool(str(cells[0])))
            kept += [index] * (not same)
        if len(kept) == len(self.columns) or not kept:
            return self
        said = ", ".join(constant)
        title = f"{self.title} ({said})" if self.title and said else self.title or said
        return replace(self._with_columns(kept), title=one_line(title))

    def _shortened(self) -> "FittedTable":
        """With the short forms of cells; of names only where no two become the same."""
        rows = [row if isinstance(row, str) else list(row) for row in self.rows]
        for index, column in enumerate(self.columns):
            given = {str(row[index]) for row in rows if not isinstance(row, str)}
            if column.short is not None and (not column.names or len(set(map(column.short, given))) == len(given)):
                for row in rows:
                    if isinstance(row, list):
                        row[index] = column.short(str(row[index]))
        return replace(self, rows=rows)

    def _with_columns(self, kept: Sequence[int]) -> "FittedTable":
        rows = [row if isinstance(row, str) else [row[index] for index in kept] for row in self.rows]
        return replace(self, columns=[self.columns[index] for index in kept], rows=rows)


def _forms(table: FittedTable) -> Iterator[tuple[FittedTable, bool, bool]]:
    """(table, whether with borders, whether names are folded), from the best to the narrowest."""
    yield table, True, False
    for change in (FittedTable._without_empty, FittedTable._shortened, FittedTable._without_constant):
        table = change(table)
        yield table, True, False
    yield table, False, False
    yield table, True, True
    yield table, False, True


def _widened(widths: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Widths of at most `most` and together at most `room`, where the narrowest columns get what they need first."""
    for cap in range(room, -1, -1):
        found = [max(width, min(limit, cap)) for width, limit in zip(widths, most, strict=True)]
        if sum(found) <= room:
            return found
    return list(widths)


def _printable(cell: TextCell) -> TextCell:
    return printable(cell) if isinstance(cell, str) else cell


def _width(cell: TextCell) -> int:
    text = str(cell)
    return max(map(cell_len, text.splitlines()), default=0) if "\n" in text else cell_len(text)


def _wrapped(text: str, style: str, console: Console, width: int) -> Iterator[Segment]:
    """The lines of a title or a note, in a style."""
    for line in wrapped(printable(text), width) if text else ():
        yield Segment(line, console.get_style(style))
        yield Segment.line()


def _listed(table: FittedTable, console: Console, width: int) -> Iterator[Segment]:
    """`name: value` of each row, as many in a line as fit; the lines after the first are indented."""
    for row in table.rows:
        if isinstance(row, str):
            yield from _wrapped(row, "bold", console, width)
            continue
        names = [column.name for column in table.columns] if table.headed else [str(row[0])]
        cells = row if table.headed else row[1:]
        pairs = [
            f"{name}: {cell}" if name else str(cell) for name, cell in zip(names, cells, strict=False) if str(cell)
        ]
        line, indent = "", ""
        for pair in map(one_line, pairs):
            for part in wrapped(pair, max(1, width - 2)):
                if line and cell_len(f"{line}  {part}") > width:
                    yield Segment(f"{line}\n")
                    line, indent = "", "  "
                line = f"{line}  {part}" if line else f"{indent}{part}"
        yield Segment(f"{line}\n")
