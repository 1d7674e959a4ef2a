"""Prints what commands give: tables, lines, notes and commands, on a terminal that interprets nothing in user texts."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import typer
from rich import table as rich_table
from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from finetune.analysis.table import Command, Line, Next, Note, Part, Table
from finetune.api import front
from finetune.api.callbacks import Callback
from finetune.cli.asking import asking
from finetune.cli.door import rows_of
from finetune.cli.libraries import load_libraries
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line, with_options
from finetune.cli.terminal import echo, flowed, one_line, print_errors, printable, say
from finetune.errors import UserError
from finetune.runs.environment import first_process
from finetune.runs.events import Watcher, unwatched

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

    def __init__(self, table: Table) -> None:
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
        """The least width of the table."""
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


class TerminalFront(front.Front):
    """The command line: progress and notes on standard error, unless it is `quiet`."""

    def __init__(self, *, given: GivenOptions, quiet: bool) -> None:
        self.given = given
        self.quiet = self.brief = quiet or not first_process()
        self.noted = set[str]()
        self.failures: list[UserError] = []

    def tell(self, *parts: Part) -> None:
        """Shows parts on standard error."""
        if not self.quiet:
            self.print(parts, self.errors)

    @cached_property
    def errors(self) -> Terminal:
        """Standard error; made once, since a server tells of each request."""
        return Terminal(stderr=True)

    def asks(self, question: str) -> bool:
        """The answer to a question on the terminal."""
        return typer.confirm(printable(question), err=True)

    def failed(self, failures: Sequence[UserError], *, every: bool = False) -> None:
        """Keeps the errors, which are printed after the results."""
        self.failures += failures

    @contextmanager
    def working(
        self,
        doing: str,
        *,
        model: str | Path = "",
        progress: bool | None = None,
        callbacks: Callback | Iterable[Callback] = (),
    ) -> Iterator[Watcher]:  # fmt: skip
        """Imports the libraries with a message, then gives the display of progress."""
        from finetune.inference.export_facts import is_export

        if not (model and is_export(model)):
            load_libraries("" if self.quiet else doing)
        if self.quiet:
            yield unwatched
            return
        from finetune.cli.progress import ProgressDisplay

        with ProgressDisplay(Terminal(stderr=True)) as display:
            yield display
        self.noted |= display.noted

    def print(self, parts: Iterable[Part], console: Terminal) -> None:
        """Prints parts; a note that was printed before is not repeated."""
        for part in parts:
            match part:
                case Table():
                    console.print(PrintedTable(part))
                case Line():
                    console.print_line(with_options(part.text), style=part.style, styled=part.styled)
                case Note():
                    if part.text not in self.noted:
                        say(one_line(note_line(part.text)), err=part.aside or console.stderr)
                    self.noted.add(part.text)
                case Command():
                    console.print(one_line(f"  {self.given.command(*part.words)}"), soft_wrap=True)
                case Next():
                    if part.commands and (console.is_terminal or (part.piped and not self.quiet)):
                        console.print("next:")
                        self.print(map(Command, part.commands), console)
                case _:
                    say(part, err=console.stderr)


def print_result(
    module: ModuleType, call: Callable[[dict[str, Any]], Any], settings: dict[str, Any], how: Mapping[str, Any], *,
    given: Mapping[str, Any], quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Calls a command, asking for settings on a terminal, and prints its result: as JSON, or as `shown` says."""
    options = GivenOptions(
        out=Path(given.get("out", "results")), data=given.get("data_folder"), device=given.get("device")
    )
    place = TerminalFront(given=options, quiet=quiet or as_json)
    with front.at(place):
        result = asking(call, settings)
        if first_process():
            if as_json:
                for row in rows_of(module, result):
                    echo(json.dumps(row, ensure_ascii=False, default=str))
                notes = [part for part in module.shown(result, **how) if isinstance(part, Note)]
                place.print(notes if not quiet else (), Terminal(stderr=True))
            else:
                place.print(module.shown(result, **how), Terminal())
        print_errors(place.failures)
    code = module.exit_code(result, **how) if hasattr(module, "exit_code") else 2 * bool(place.failures)
    if code:
        raise typer.Exit(code)
