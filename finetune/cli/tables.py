"""Tables of the terminal, which fit the width of the console without cutting anything.

The first form that fits is printed: the whole table; without empty columns; with short names; with constant columns in
the title. Where none fits, each row is `name: value`. rich's own table has no rows that are titles.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

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
WORDS = ("runs", "published dev", "verdict", "published test", "settings", "against baseline", "encoder")
NAMES = ("model", "system")

TextCell = str | Text
CellRow = Sequence[TextCell]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: its heading, and what may be done to make a table fit.

    `words` may be wrapped, and `short` gives a shorter form of a cell, of `names` only where no two become the same.
    One that `stays` is not taken into the title where its cells are equal. `cells` are set when it is printed.
    """

    name: str
    right: bool = False
    words: bool = False
    names: bool = False
    stays: bool = False
    short: Callable[[str], str] | None = None
    cells: Sequence[Text] = ()

    @property
    def texts(self) -> list[str]:
        """The cells without their styles."""
        return [cell.plain for cell in self.cells]

    @property
    def shortened(self) -> "Column":
        """With the shorter form of each cell."""
        if self.short is None or (self.names and len({*map(self.short, self.texts)}) < len({*self.texts})):
            return self
        return replace(self, cells=[Text(self.short(cell.plain), cell.style) for cell in self.cells])


def columns(*names: str, right: Sequence[str] = ()) -> list[Column]:
    """Columns by their headings; those of `right` are aligned to the right."""
    return [Column(name=name, right=name in right) for name in names]


def short_model(name: str) -> str:
    """`bert-base-uncased` of `google-bert/bert-base-uncased`, and the last folder of a path."""
    return name.rstrip("/").rpartition("/")[2]


def to_the_minute(time: str) -> str:
    """`2026-11-21 08:53` of `2026-11-21T08:53:12+00:00`."""
    return time[:16].replace("T", " ")


SHORT: dict[str, Callable[[str], str]] = {"model": short_model, "system": short_model, "finished": to_the_minute}


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
        rows = [
            [cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row]
            for row in self.rows
            if not isinstance(row, str)
        ]
        whole = [
            replace(column, name=one_line(column.name), cells=[row[at] for row in rows])
            for at, column in enumerate(self.columns)
        ]
        filled = [column for at, column in enumerate(whole) if at == 0 or any(column.texts)]
        short = [column.shortened for column in filled]
        varied = [column for column in short if len({*column.texts}) != 1 or column.right or column.stays]
        if len(rows) < 2 or not self.headed or not varied:
            varied = short
        for shown in (whole, filled, short, varied):
            if (widths := self._widths(shown, options.max_width)) is not None:
                break
        common = ""
        if shown is varied:
            constant = [column for column in short if column not in shown and column.texts[0]]
            common = ", ".join(f"{column.name} {column.texts[0]}".strip() for column in constant)
        title = one_line(f"{self.title} ({common})" if self.title and common else self.title or common)
        yield from _styled(title, "table.title", console, options.max_width)
        if widths is None:
            yield from self._listed(console, shown, options.max_width)
        else:
            yield from self._boxed(console, options, shown, widths)
        for note in self.notes:
            yield from _styled(note, "table.caption", console, options.max_width)

    def _widths(self, columns: Sequence[Column], available: int) -> list[int] | None:
        """The width of each column; None where they need more than is available."""
        room = available - (3 * len(columns) + 1)
        least, most = [], []
        for column in columns:
            heading = column.name if self.headed else ""
            natural = max((cell_len(line) for text in column.texts for line in text.splitlines()), default=0)
            word = max(map(cell_len, heading.split()), default=0)
            least.append(max(min(natural, LEAST_TEXT) if column.words else natural, word))
            most.append(max(natural, cell_len(heading)))
        if sum(least) > room:
            return None
        for cap in range(room, -1, -1):  # the narrowest columns get what they need first
            widths = [max(low, min(high, cap)) for low, high in zip(least, most, strict=True)]
            if sum(widths) <= room:
                break
        return widths

    def _boxed(
        self, console: Console, options: ConsoleOptions, columns: Sequence[Column], widths: Sequence[int]
    ) -> Iterator[Segment]:
        box = (HEAVY_HEAD if self.headed else HEAVY_HEAD.get_plain_headed_box()).substitute(options)
        outer = [width + 2 for width in widths]

        def line(
            columns: Sequence[Column], cells: Sequence[Text], widths: Sequence[int], edges: str
        ) -> Iterator[Segment]:
            parts = [wrapped(cell.plain, width) for cell, width in zip(cells, widths, strict=True)]
            for texts in zip_longest(*parts, fillvalue=""):
                for at, (text, cell, width) in enumerate(zip(texts, cells, widths, strict=True)):
                    pad = " " * (width - cell_len(text))
                    yield Segment(f" {edges[1]} " if at else f"{edges[0]} ")
                    yield Segment(pad + text if columns[at].right else text + pad, console.get_style(cell.style))
                yield Segment(f" {edges[2]}\n")

        yield Segment(f"{box.get_top(outer)}\n")
        if self.headed:
            edges = box.head_left + box.head_vertical + box.head_right
            yield from line(columns, [Text(column.name, "table.header") for column in columns], widths, edges)
            yield Segment(f"{box.get_row(outer, 'head')}\n")
        edges, cells = (
            box.mid_left + box.mid_vertical + box.mid_right,
            zip(*(column.cells for column in columns), strict=True),
        )
        for number, row in enumerate(self.rows):
            if number and (self.ruled or isinstance(row, str)):
                yield Segment(f"{box.get_row(outer, 'row')}\n")
            if isinstance(row, str):
                inner = sum(outer) + len(outer) - 3
                yield from line([Column(name="")], [Text(printable(row), "bold")], [inner], edges)
            else:
                yield from line(columns, next(cells), widths, edges)
        yield Segment(f"{box.get_bottom(outer)}\n")

    def _listed(self, console: Console, columns: Sequence[Column], width: int) -> Iterator[Segment]:
        """`name: value` of each row; the lines after the first are indented."""
        texts = zip(*(column.texts for column in columns), strict=True)
        for row in self.rows:
            if isinstance(row, str):
                yield from _styled(row, "bold", console, width)
                continue
            names, cells = [column.name for column in columns], next(texts)
            if not self.headed:
                names, cells = [cells[0]] * len(cells), cells[1:]
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


def fitted_table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[CellRow | str],
    *,
    right: Collection[str] = (),
    words: Collection[str] = WORDS,
    **how: Any,
) -> FittedTable:
    """A table of rows under headings; names of models and times may be shortened, and `how` are fields of the table."""
    columns = [
        Column(name=name, right=name in right, words=name in words, names=name in NAMES, short=SHORT.get(name))
        for name in headings
    ]
    return FittedTable(title=title, columns=columns, rows=rows, **how)


def table_from_cells(title: str, rows: Sequence[Mapping[str, TextCell]], **how: Any) -> FittedTable:
    """A table of rows with cells by heading; `how` as of `fitted_table`."""
    return fitted_table(title, [*next(iter(rows), ())], [tuple(row.values()) for row in rows], **how)


def as_table(form: "Form") -> FittedTable:
    """A form of results; groups of rows are below their titles."""
    rows: list[CellRow | str] = list(form.rows)
    if form.grouped:
        rows = [line for title, group in form.groups for line in (title, *group)]
    headings = form.header[form.grouped :]
    return fitted_table(form.title, headings, rows, right=form.header[form.left :], notes=form.notes)


def layout_table(layout: "Layout") -> FittedTable:
    """The meaning of each column of the user's data, and why it was inferred."""
    given = {
        "shape": layout.shape,
        "text": layout.text_setting.replace(",", ", ") if layout.rest else ", ".join(layout.text),
        "spans": ", ".join(layout.marked or layout.markers) + (f" (ends {ends})" if (ends := layout.span_ends) else ""),
        "label": ", ".join(layout.label) or "none was found",
        "labels": ", ".join(layout.names.values()) if layout.by_position else "",
        "order": " < ".join(layout.order),
        "id": layout.id,
        "group": layout.group,
    }
    rows = [(name, value, layout.reasons.get(name, "")) for name, value in given.items() if value]
    words = Column(name="", words=True)
    return FittedTable(title="layout", columns=[Column(name=""), words, words], rows=rows, headed=False)


def _styled(text: str, style: str, console: Console, width: int) -> Iterator[Segment]:
    for line in wrapped(printable(text), width) if text else ():
        yield Segment(line, console.get_style(style))
        yield Segment.line()
