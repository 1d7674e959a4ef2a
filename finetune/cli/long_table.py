"""A faster table of many short rows that looks like rich's, which takes a third of a millisecond per row."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from finetune.cli.terminal import printable

Row = tuple[str, ...]


class LongTable:
    """Left-aligned columns of text. rich lays out only the widest cells; all rows are padded to its widths."""

    def __init__(self, title: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self.title = title
        self.columns = columns
        self.rows = [tuple(map(printable, row)) for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The segments that rich prints."""
        if options.ascii_only or options.legacy_windows:
            yield self._table(self.rows)
            return
        laid_out = console.render_lines(self._table(self._widest()), options, pad=False)
        texts = ["".join(segment.text for segment in line) for line in laid_out]
        below_header = next(index for index, text in enumerate(texts) if text.startswith("┡"))
        widths = [len(part) - 2 for part in texts[below_header][1:-1].split("╇")]
        for line in laid_out[: below_header + 1]:
            yield from (*line, Segment.line())
        yield Segment("".join(_lines(self.rows, widths, console)))
        yield from (*laid_out[-1], Segment.line())

    def _table(self, rows: Sequence[Row]) -> Table:
        table = Table(*self.columns, title=self.title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        return table

    def _widest(self) -> list[Row]:
        """For each column the row with the widest cell and the one with the widest word, which set rich's widths."""
        chosen = []
        for cells in zip(*self.rows, strict=True):
            for width in (cell_len, _widest_word):
                at = max(range(len(cells)), key=lambda row: width(cells[row]))
                chosen.append(self.rows[at])
        return chosen


def _widest_word(cell: str) -> int:
    return max(map(cell_len, cell.split()), default=0)


def _lines(rows: Sequence[Row], widths: Sequence[int], console: Console) -> Iterator[str]:
    """Lines of the rows with borders; a cell that is too wide for its column is wrapped."""

    @cache
    def fitted(cell: str, width: int) -> list[str]:
        if "\n" not in cell and "\t" not in cell and (used := cell_len(cell)) <= width:
            return [cell + " " * (width - used)]
        return [
            line.plain + " " * (width - line.cell_len) for line in Text(cell).wrap(console, width, overflow="ellipsis")
        ]

    blank = [" " * width for width in widths]
    for row in rows:
        cells = [fitted(cell, width) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells):
            filled = [empty if part is None else part for part, empty in zip(parts, blank, strict=True)]
            yield f"│ {' │ '.join(filled)} │\n"
