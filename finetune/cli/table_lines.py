"""The lines of a table whose widths are known: borders, cells over several lines, rows that are titles.

rich's own table takes a third of a millisecond a row, which is seconds for a list of all runs.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from rich.box import HEAVY_HEAD, Box
from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

LineCell = str | Text
WORD = re.compile(r"\s*\S+(?: \[\d+\][;,]?)?")  # with the number of its source, such as [1], in the same line
PART = re.compile(r"\s*(?:[^./_-]*[./_-]+|[^./_-]+)")  # of a word that is wider than its column
SOURCE = re.compile(r"[^\s./_-]+ \[\d+\]")  # the last part of a name with the number of its source


def longest_source(cells: Iterable[str]) -> int:
    """The width of the longest end of a name that stays together with the number of its source; 0 without numbers."""
    return max((cell_len(found) for cell in cells for found in SOURCE.findall(cell)), default=0)


def longest_word(text: str) -> int:
    """The width of a text's longest word."""
    return max(map(cell_len, text.split()), default=0)


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most `width` cells: broken at spaces and signs such as / and -, else within a word."""
    lines = []
    for paragraph in text.expandtabs().splitlines() or [""]:
        line = ""
        for word in _words(paragraph, width):
            if cell_len(line + word) <= width:
                line += word
                continue
            if line.strip():
                lines.append(line.rstrip())
            *whole, line = chop_cells(word.lstrip(), width) or [""]
            lines += whole
        lines.append(line.rstrip())
    return lines


def _words(text: str, width: int) -> Iterator[str]:
    """The words with the spaces before them; the parts of those that are wider than a line."""
    for word in WORD.findall(text):
        yield from [word] if cell_len(word.strip()) <= width else PART.findall(word)


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Draws rows in columns of these `widths`, with borders if `boxed`, with a line after each row if `ruled`."""

    console: Console
    options: ConsoleOptions
    widths: Sequence[int]
    boxed: bool
    ruled: bool

    def of(
        self, headings: Sequence[str] | None, rows: Sequence[Sequence[LineCell] | str], *, right: Sequence[bool]
    ) -> Iterator[Segment]:
        """All lines; the cells of `right` columns are aligned to the right."""
        box = HEAVY_HEAD if headings else HEAVY_HEAD.get_plain_headed_box()
        box = box.substitute(self.options)
        outer = [width + 2 for width in self.widths]
        edges = (box.head_left, box.head_vertical, box.head_right), (box.mid_left, box.mid_vertical, box.mid_right)
        if self.boxed:
            yield Segment(f"{box.get_top(outer)}\n")
        if headings:
            head = [Text(heading, self.console.get_style("table.header")) for heading in headings]
            yield from self._row(head, right, edges[0])
            yield Segment(f"{box.get_row(outer, 'head') if self.boxed else self._rule()}\n")
        for number, row in enumerate(rows):
            if number and (self.ruled or isinstance(row, str)):
                yield Segment(f"{box.get_row(outer, 'row')}\n" if self.boxed else "\n")
            if isinstance(row, str):
                yield from self._titled(row, box)
            else:
                yield from self._row(row, right, edges[1])
        if self.boxed:
            yield Segment(f"{box.get_bottom(outer)}\n")

    def _rule(self) -> str:
        sign = "-" if self.options.ascii_only else "─"
        return "  ".join(sign * width for width in self.widths)

    def _titled(self, title: str, box: Box) -> Iterator[Segment]:
        """A title over all columns."""
        inner = sum(self.widths) + (3 if self.boxed else 2) * (len(self.widths) - 1)
        bold = self.console.get_style("bold")
        for text in wrapped(title, inner):
            left, end = (f"{box.mid_left} ", f" {box.mid_right}\n") if self.boxed else ("", "\n")
            yield from (Segment(left), Segment(text, bold), Segment(" " * (inner - cell_len(text)) * self.boxed + end))

    def _row(self, row: Sequence[LineCell], right: Sequence[bool], edges: tuple[str, str, str]) -> Iterator[Segment]:
        """The lines of a row; one segment for a line whose cells have no style."""
        left, middle, end = (f"{edges[0]} ", f" {edges[1]} ", f" {edges[2]}") if self.boxed else ("", "  ", "")
        cells = [self._cell(cell, width, at) for cell, width, at in zip(row, self.widths, right, strict=True)]
        for parts in zip_longest(*cells):
            filled = [" " * width if part is None else part for part, width in zip(parts, self.widths, strict=True)]
            if all(isinstance(part, str) for part in filled):
                line = f"{left}{middle.join(map(str, filled))}{end}"
                yield Segment(f"{line if self.boxed else line.rstrip()}\n")
                continue
            for index, part in enumerate(filled):
                yield Segment(middle if index else left)
                yield Segment(str(part)) if isinstance(part, str) else Segment(part.plain, _style(part, self.console))
            yield Segment(f"{end}\n" if self.boxed else "\n")

    def _cell(self, cell: LineCell, width: int, right: bool) -> list[LineCell]:
        """The lines of a cell, each as wide as its column."""
        if isinstance(cell, str):
            return list(_fitted(cell, width, right))
        return [Text(line, cell.style) for line in _fitted(cell.plain, width, right)]


def _style(text: Text, console: Console) -> Style:
    return console.get_style(text.style) if isinstance(text.style, str) else text.style


@lru_cache(maxsize=4_096)
def _fitted(cell: str, width: int, right: bool) -> tuple[str, ...]:
    """A cell's lines, padded to the width."""
    whole = "\n" not in cell and "\t" not in cell and cell_len(cell) <= width
    lines = [cell] if whole else wrapped(cell, width)
    pads = [" " * (width - cell_len(line)) for line in lines]
    return tuple(pad + line if right else line + pad for line, pad in zip(lines, pads, strict=True))
