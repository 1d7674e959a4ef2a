"""Consoles that print user texts literally, and tables as rich draws them."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from rich import table as rich_table
from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from finetune.analysis.table import TextTable
from finetune.cli.terminal import flowed, one_line, printable

PIPED_WIDTH = 300  # characters
LEAST_TEXT = 16  # characters of a column of words
PLAIN_SIGNS = str.maketrans("✓✗·", "+!-")  # of verdicts, on a terminal without Unicode
JUSTIFY: dict[bool, Literal["left", "right"]] = {False: "left", True: "right"}


class Terminal(Console):
    """A console that interprets no markup, emoji codes or control characters in strings; styled text is a `Text`.

    Piped output is not truncated to a terminal's width.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)
        if not stderr and not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = PIPED_WIDTH

    def print_line(self, text: str, *, style: str = "", styled: int | None = None) -> None:
        """Prints one line, which on a terminal breaks between words; its first `styled` characters have the style."""
        text = text.translate(PLAIN_SIGNS) if self.options.ascii_only else text
        shown = Text(flowed(one_line(text), self.width) if self.is_terminal else one_line(text))
        shown.stylize(style, 0, styled)
        self.print(shown, soft_wrap=True)

    def render_str(self, text: str, **options: Any) -> Text:
        """Escapes control characters; every string, in tables too, goes through here."""
        return super().render_str(printable(text), **options)


class PrintedTable:
    """A table as rich prints it: nothing is cut. Where the columns do not fit the width, a row is `name: value`."""

    def __init__(self, table: TextTable) -> None:
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, with control characters escaped; columns without a cell are left out, except the first."""
        table, rows = self.table, [list(row) for row in self.table.rows]
        if table.grouped:
            rows = [[title * (not at), *row] for title, group in table.groups for at, row in enumerate(group)]
        filled = [at for at in range(len(table.columns)) if at == 0 or any(row[at] for row in rows)]
        columns = [table.columns[at] for at in filled]
        bold = {True: "bold", False: ""}
        cells = [
            [Text(printable(row[at]), bold[number in table.bold]) for at in filled] for number, row in enumerate(rows)
        ]
        if table.title:
            yield Text(one_line(table.title), style="table.title", overflow="fold")
        if self._width(columns, cells) <= options.max_width:
            drawn = rich_table.Table(box=HEAVY_HEAD, show_header=table.headed, show_lines=table.ruled)
            for name in columns:
                justify = JUSTIFY[name in table.right]
                drawn.add_column(
                    Text(one_line(name)), justify=justify, no_wrap=name not in table.words, overflow="fold"
                )
            for row in cells:
                drawn.add_row(*row)
            yield drawn
        else:
            yield from self._listed(columns, cells)
        for note in table.notes:
            yield Text(printable(note), style="table.caption", overflow="fold")

    def _width(self, columns: Sequence[str], rows: Sequence[Sequence[Text]]) -> int:
        width = 3 * len(columns) + 1
        for at, name in enumerate(columns):
            widest = max((cell_len(line) for row in rows for line in row[at].plain.splitlines()), default=0)
            widest = max(widest, cell_len(name) if self.table.headed else 0)
            width += min(widest, LEAST_TEXT) if name in self.table.words else widest
        return width

    def _listed(self, columns: Sequence[str], rows: Sequence[Sequence[Text]]) -> Iterator[Text]:
        """Each row on a line, which goes on in the next ones where it is too long."""
        for row in rows:
            names, cells = list(columns), [cell.plain for cell in row]
            if not self.table.headed:
                names, cells = [cells[0]] * (len(cells) - 1), cells[1:]
            pairs = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell]
            yield Text(one_line("  ".join(pairs)), overflow="fold")
