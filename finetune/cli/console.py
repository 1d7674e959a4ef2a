"""Consoles that print user texts literally, and a table of facts."""

import os
from typing import Any

from rich.console import Console
from rich.text import Text

from finetune.cli.tables import Column, FittedTable
from finetune.cli.terminal import flowed, one_line, printable

PIPED_WIDTH = 300  # characters
STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}  # of what was found in data
VALUE = Column(name="", words=True)


class Terminal(Console):
    """A console that interprets no markup, emoji codes or control characters in strings; styled text is a `Text`."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def print_line(self, text: str, *, style: str = "", styled: int | None = None) -> None:
        """Prints one line, whatever newlines the text of a note, a path or a cell has; on a terminal it breaks between
        words. Its first `styled` characters, or all, have a style.
        """
        shown = Text(flowed(one_line(text), self.width) if self.is_terminal else one_line(text))
        shown.stylize(style, 0, styled)
        self.print(shown, soft_wrap=True)

    def print_next(self, *commands: str, piped: bool = False) -> None:
        """Prints what to do next, a command a line; only on a terminal, since other programs read what is `piped`.

        A line is not broken, so that a command can be pasted.
        """
        if self.is_terminal or piped:
            self.print("next:")
            for command in commands:
                self.print_command(command)

    def print_command(self, command: str) -> None:
        """Prints a command on one line."""
        self.print(one_line(f"  {command}"), soft_wrap=True)

    def render_str(self, text: str, **options: Any) -> Text:
        """Escapes control characters; every string, in tables too, goes through here."""
        return super().render_str(printable(text), **options)


def standard_output() -> Terminal:
    """The console for results. Piped output is not truncated to a terminal's width."""
    console = Terminal()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console


def standard_error() -> Terminal:
    """The console for progress and notes."""
    return Terminal(stderr=True)


def facts_table(title: str, facts: dict[str, Any]) -> FittedTable:
    """A table with one line per fact; empty ones are left out."""
    rows = [(name, as_plain_text(value)) for name, value in facts.items() if value not in (None, [], {})]
    return FittedTable(title=one_line(title), columns=[Column(name=""), VALUE], rows=rows, headed=False)


def as_plain_text(value: Any) -> str:
    """A value as text."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {as_plain_text(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(as_plain_text(inner) for inner in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
