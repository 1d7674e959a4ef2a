"""Tables of the terminal, which fit the width of the console without cutting anything.

The first form that fits is printed: the whole table; without empty columns; with short names; with constant columns in
the title. Where none fits, each row is `name: value`. rich's own table has no rows that are titles.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.box import HEAVY_HEAD
from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

from finetune.cli.terminal import one_line, printable

if TYPE_CHECKING:
    from finetune.analysis.form import Form
    from finetune.task_types.columns import Layout

LEAST_TEXT = 16  # characters of a column of words
WORD = re.compile(r"\s*\S+(?: \[\d+\][;,]?)?")  # with the number of its source, such as [1], in the same line
FORM_WORDS = ("runs", "published dev", "verdict", "published test", "settings", "against baseline")
FORM_NAMES = ("model", "system")

TextCell = str | Text
CellRow = Sequence[TextCell]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: its heading, and what may be done to make a table fit.

    `words` may be wrapped, and `short` gives a shorter form of a cell, of `names` only where no two become the same.
    One that `stays` is not taken into the title where its cells are equal.
    """

    name: str
    right: bool = False
    words: bool = False
    names: bool = False
    stays: bool = False
    short: Callable[[str], str] | None = None


def columns(*names: str, right: Sequence[str] = ()) -> list[Column]:
    """Columns by their headings; those of `right` are aligned to the right."""
    return [Column(name=name, right=name in right) for name in names]


def short_model(name: str) -> str:
    """`bert-base-uncased` of `google-bert/bert-base-uncased`, and the last folder of a path."""
    return name.rstrip("/").rpartition("/")[2]


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
        headings = [replace(column, name=one_line(column.name)) for column in self.columns]
        rows = [printable(row) if isinstance(row, str) else [*map(_printable, row)] for row in self.rows]
        for table in replace(self, columns=headings, rows=rows)._forms():
            if (widths := table._widths(options.max_width)) is not None:
                break
        yield from _styled(table.title, "table.title", console, options.max_width)
        yield from (
            table._listed(console, options.max_width) if widths is None else table._boxed(console, options, widths)
        )
        for note in table.notes:
            yield from _styled(note, "table.caption", console, options.max_width)

    def _forms(self) -> Iterator["FittedTable"]:
        """The table, then narrower ones."""
        table = self
        yield table
        for change in (FittedTable._without_empty, FittedTable._shortened, FittedTable._without_constant):
            table = change(table)
            yield table

    def _cells(self) -> list[tuple[TextCell, ...]]:
        """The cells of each column."""
        rows = [row for row in self.rows if not isinstance(row, str)]
        return [tuple(row[index] for row in rows) for index in range(len(self.columns))]

    def _without_empty(self) -> "FittedTable":
        return self._with_columns([at for at, cells in enumerate(self._cells()) if at == 0 or any(map(str, cells))])

    def _shortened(self) -> "FittedTable":
        rows = [row if isinstance(row, str) else [*row] for row in self.rows]
        for index, (column, cells) in enumerate(zip(self.columns, self._cells(), strict=True)):
            given = {*map(str, cells)}
            if column.short is not None and (not column.names or len({*map(column.short, given)}) == len(given)):
                for row in rows:
                    if isinstance(row, list):
                        row[index] = column.short(str(row[index]))
        return replace(self, rows=rows)

    def _without_constant(self) -> "FittedTable":
        """With the columns that have the same cell in all rows in the title, but not those of numbers."""
        kept, constant = [], []
        for index, (column, cells) in enumerate(zip(self.columns, self._cells(), strict=True)):
            if len({*map(str, cells)}) != 1 or column.right or column.stays:
                kept.append(index)
            elif str(cells[0]):
                constant.append(f"{column.name} {cells[0]}".strip())
        if len([row for row in self.rows if not isinstance(row, str)]) < 2 or not self.headed or not kept:
            return self
        what = ", ".join(constant)
        title = f"{self.title} ({what})" if self.title and what else self.title or what
        return replace(self._with_columns(kept), title=one_line(title))

    def _with_columns(self, kept: Sequence[int]) -> "FittedTable":
        rows = [row if isinstance(row, str) else [row[index] for index in kept] for row in self.rows]
        return replace(self, columns=[self.columns[index] for index in kept], rows=rows)

    def _widths(self, available: int) -> list[int] | None:
        """The width of each column; None where they need more than is available."""
        room = available - (3 * len(self.columns) + 1)
        least, most = [], []
        for column, cells in zip(self.columns, self._cells(), strict=True):
            heading = column.name if self.headed else ""
            natural = max([cell_len(line) for cell in cells for line in str(cell).splitlines()], default=0)
            word = max(map(cell_len, heading.split()), default=0)
            least.append(max(min(natural, LEAST_TEXT) if column.words else natural, word))
            most.append(max(natural, cell_len(heading)))
        if sum(least) > room:
            return None
        cap = next(cap for cap in range(room, -1, -1) if sum(_capped(least, most, cap)) <= room)
        return _capped(least, most, cap)

    def _boxed(self, console: Console, options: ConsoleOptions, widths: Sequence[int]) -> Iterator[Segment]:
        box = (HEAVY_HEAD if self.headed else HEAVY_HEAD.get_plain_headed_box()).substitute(options)
        outer = [width + 2 for width in widths]
        yield Segment(f"{box.get_top(outer)}\n")
        if self.headed:
            head = [Text(column.name, console.get_style("table.header")) for column in self.columns]
            yield from self._row(console, head, widths, box.head_left, box.head_vertical, box.head_right)
            yield Segment(f"{box.get_row(outer, 'head')}\n")
        for number, row in enumerate(self.rows):
            if number and (self.ruled or isinstance(row, str)):
                yield Segment(f"{box.get_row(outer, 'row')}\n")
            if isinstance(row, str):
                inner = sum(outer) + len(outer) - 3
                for line in wrapped(row, inner):
                    yield Segment(f"{box.mid_left} ")
                    yield Segment(line, console.get_style("bold"))
                    yield Segment(f"{' ' * (inner - cell_len(line))} {box.mid_right}\n")
            else:
                yield from self._row(console, row, widths, box.mid_left, box.mid_vertical, box.mid_right)
        yield Segment(f"{box.get_bottom(outer)}\n")

    def _row(
        self, console: Console, row: CellRow, widths: Sequence[int], left: str, middle: str, right: str
    ) -> Iterator[Segment]:
        """The lines of a row."""
        cells = [wrapped(str(cell), width) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            for at, (part, cell, width) in enumerate(zip(parts, row, widths, strict=True)):
                pad = " " * (width - cell_len(part))
                yield Segment(f" {middle} " if at else f"{left} ")
                text = pad + part if self.columns[at].right else part + pad
                yield Segment(text) if isinstance(cell, str) else Segment(text, console.get_style(cell.style))
            yield Segment(f" {right}\n")

    def _listed(self, console: Console, width: int) -> Iterator[Segment]:
        """`name: value` of each row; the lines after the first are indented."""
        for row in self.rows:
            if isinstance(row, str):
                yield from _styled(row, "bold", console, width)
                continue
            names = [column.name for column in self.columns] if self.headed else [str(row[0])]
            cells = [*map(str, row)] if self.headed else [*map(str, row[1:])]
            pairs = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell]
            for number, line in enumerate(wrapped(one_line("  ".join(pairs)), max(1, width - 2))):
                yield Segment(f"{'  ' * bool(number)}{line}\n")


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most `width` cells, broken at spaces, and a word that is wider within it."""
    if "\n" not in text and "\t" not in text and cell_len(text) <= width:
        return [text]
    lines = []
    for paragraph in text.expandtabs().splitlines() or [""]:
        line = ""
        for word in WORD.findall(paragraph):
            if cell_len(line + word) > width:
                lines += [line.rstrip()] * bool(line.strip())
                *whole, word = chop_cells(word.lstrip(), width) or [""]
                lines += whole
                line = ""
            line += word
        lines.append(line.rstrip())
    return lines


def as_table(form: "Form") -> FittedTable:
    """A form of results; groups of rows are below their titles."""
    headings = [
        Column(
            name=name, right=number >= form.left, words=name in FORM_WORDS, names=name in FORM_NAMES,
            short=short_model if name in FORM_NAMES else None,
        )
        for number, name in enumerate(form.header)
    ]  # fmt: skip
    rows: list[CellRow | str] = list(form.rows)
    if form.grouped:
        headings = headings[1:]
        rows = [line for title, some in form.groups() for line in (title, *some)]
    return FittedTable(title=form.title, columns=headings, rows=rows, notes=form.notes)


def layout_table(layout: "Layout") -> FittedTable:
    """The meaning of each column of the user's data, and why it was inferred."""
    given = {
        "shape": layout.shape,
        "text": layout.text_setting.replace(",", ", ") if layout.rest else ", ".join(layout.text),
        "spans": ", ".join(layout.marked or layout.markers) + (f" (ends {ends})" if (ends := layout.span_ends) else ""),
        "label": ", ".join(layout.label) or "none was found",
        "labels": ", ".join(layout.names.values()) if layout.by_position else "",
        "order": " < ".join(layout.order),
        "levels": layout.levels,
        "id": layout.id,
        "group": layout.group,
    }
    rows = [(name, value, layout.reasons.get(name, "")) for name, value in given.items() if value]
    words = Column(name="", words=True)
    return FittedTable(title="layout", columns=[Column(name=""), words, words], rows=rows, headed=False)


def _printable(cell: TextCell) -> TextCell:
    return printable(cell) if isinstance(cell, str) else cell


def _capped(least: Sequence[int], most: Sequence[int], cap: int) -> list[int]:
    """Widths where the narrowest columns get what they need first."""
    return [max(low, min(high, cap)) for low, high in zip(least, most, strict=True)]


def _styled(text: str, style: str, console: Console, width: int) -> Iterator[Segment]:
    """The lines of a title or a note, in a style."""
    for line in wrapped(printable(text), width) if text else ():
        yield Segment(line, console.get_style(style))
        yield Segment.line()
