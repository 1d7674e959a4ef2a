"""Prints what commands give: tables, lines, notes and commands, on a terminal that interprets nothing in user texts."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer

from finetune.analysis.table import Command, Line, Next, NoteLine, Part, TextTable
from finetune.api import front
from finetune.cli.asking import asking
from finetune.cli.console import PrintedTable, Terminal
from finetune.cli.libraries import load_libraries
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line, with_options
from finetune.cli.terminal import echo, one_line, print_errors, printable, say
from finetune.errors import UserError
from finetune.runs.process import first_process

if TYPE_CHECKING:
    from finetune.api.callbacks import Callback
    from finetune.runs.events import Watcher


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
        """The answer to a question on the terminal; no where nobody can be asked."""
        return sys.stdin.isatty() and sys.stderr.isatty() and typer.confirm(printable(question), err=True)

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
        callbacks: "Callback | Iterable[Callback]" = (),
    ) -> "Iterator[Watcher]":  # fmt: skip
        """Imports the libraries with a message, then gives the display of progress."""
        from finetune.inference.export_facts import is_export
        from finetune.runs.events import unwatched

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
                case TextTable():
                    console.print(PrintedTable(part))
                case Line():
                    console.print_line(with_options(part.text), style=part.style, styled=part.styled)
                case NoteLine():
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
                for row in json_rows(module, result):
                    echo(json.dumps(_plain(row), ensure_ascii=False, default=str))
                notes = [part for part in module.shown(result, **how) if isinstance(part, NoteLine)]
                place.print(notes if not quiet else (), Terminal(stderr=True))
            else:
                place.print(module.shown(result, **how), Terminal())
        print_errors(place.failures)
    code = module.exit_code(result, **how) if hasattr(module, "exit_code") else 2 * bool(place.failures)
    if code:
        raise typer.Exit(code)


def json_rows(module: ModuleType, result: Any) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a result: by the module's `as_json`, or of a file and of a table."""
    if hasattr(module, "as_json"):
        yield from module.as_json(result)
    elif isinstance(result, Path):
        yield {"path": str(result)}
    else:
        yield from json.loads(result.frame.to_json(orient="records", double_precision=15))


def _plain(value: Any) -> Any:
    """The value with null in place of NaN and infinity, which JSON does not have."""
    match value:
        case Mapping():
            return {key: _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [*map(_plain, value)]
        case float() if not math.isfinite(value):
            return None
    return value
