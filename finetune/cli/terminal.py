"""What is printed: texts of data, names of files and records are shown, and never interpreted by a terminal."""

import re

import typer

from finetune.errors import UserError

# Control characters (C0 without tab and newline, C1), what changes the direction of text, and lone surrogates.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with `\\u001b` and the like for what a terminal would obey: the same text, where it is JSON or TOML."""
    return OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Prints a text on standard output, or on standard error."""
    typer.echo(printable(text), err=err, nl=nl)


def print_error(error: UserError) -> None:
    """One line on standard error."""
    echo(f"error: {error}", err=True)
