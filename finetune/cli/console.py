"""Consoles for tables and notes, which show a user's texts as they are, and the simplest table."""

import os
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from finetune.cli.terminal import printable

PIPED_WIDTH = 300  # characters


class Terminal(Console):
    """A console that takes no text for markup, an emoji's name or a command; what has a style is a `Text`."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """As Console has it: every string goes through here, those in tables too."""
        return super().render_str(printable(text), **options)


def standard_output() -> Terminal:
    """Where results are printed. What is piped is not cut to a terminal's width."""
    console = Terminal()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console


def standard_error() -> Terminal:
    """Where progress and notes are printed."""
    return Terminal(stderr=True)


def facts_table(title: str, facts: dict[str, Any]) -> Table:
    """Names and values, a line each; what is empty is left out."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value not in (None, [], {}):
            table.add_row(name, plain(value))
    return table


def plain(value: Any) -> str:
    """A value in words."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(inner) for inner in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
