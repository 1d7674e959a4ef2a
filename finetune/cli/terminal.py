"""Printing: control characters in data, file names and records are escaped, never sent to the terminal."""

import os
import re

import typer

from finetune.errors import UserError

# Control characters (C0 without tab and newline, C1), line separators, bidi controls, and lone surrogates.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def first_process() -> bool:
    """Whether this process prints (rank 0 of a launcher)."""
    return os.environ.get("RANK", "0") == "0"


def printable(text: str) -> str:
    """The text with control characters as escapes (`\\u001b`), which JSON and TOML read back as the same text."""
    return OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Prints a text on standard output or standard error."""
    typer.echo(printable(text), err=err, nl=nl)


def print_error(error: UserError) -> None:
    """Prints an error as one line on standard error."""
    echo(f"error: {error}", err=True)
