"""Printing: control characters in data, file names and records are escaped, never sent to the terminal."""

import os
import re
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import typer

from finetune.cli.options import with_options
from finetune.errors import UserError
from finetune.runs.process import first_process

# Control characters (C0 without tab and newline, C1), line separators, bidi controls, and lone surrogates.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
MOST_ERROR_CHARS = 5_000  # characters of an error
# A word, which may be a command in backticks or a setting with spaces: what can be pasted is not broken.
UNBROKEN = re.compile(r"(?:`[^`]*`|='[^']*'|\S)+")
INDENT = re.compile(" *")
REPEAT_SECONDS = 15.0  # in which a launcher notices that another process has failed


def let_first_print() -> None:
    """Waits in another process than the first: if that fails too, the launcher ends this one before it repeats it."""
    if not first_process():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(REPEAT_SECONDS)


def printable(text: str) -> str:
    """The text with control characters as escapes (`\\u001b`), which JSON and TOML read back as the same text."""
    return OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """The text on one line: newlines, as in a file's name or a cell, are escaped."""
    return printable(text).replace("\n", "\\u000a")


def flowed(text: str, width: int) -> str:
    """The text in lines of a terminal that break between words; a command that is wider than a line stays whole."""
    return "\n".join(_flowed(line, width) for line in text.split("\n"))


def _cells(line: str) -> Callable[[str], int]:
    """What counts the cells of a line's parts; rich is imported where some characters are wide, never for `--help`."""
    if line.isascii():
        return len
    from rich.cells import cell_len

    return cell_len


def _flowed(line: str, width: int) -> str:
    cell_len = _cells(line)
    if cell_len(line) <= width:
        return line
    indent = INDENT.match(line)[0]  # type: ignore[index]  # which matches every line
    lines, end = [indent], 0
    for match in UNBROKEN.finditer(line):
        added = line[end if end else len(indent) : match.end()]
        if cell_len(lines[-1] + added) > width and lines[-1].strip():
            lines.append(f"{indent}  {match[0]}")
        else:
            lines[-1] += added
        end = match.end()
    return "\n".join(lines)


def say(text: str, *, err: bool = False) -> None:
    """Prints sentences for a person: on a terminal its lines break between words."""
    width = _columns(sys.stderr if err else sys.stdout)
    echo(flowed(printable(text), width) if width else text, err=err)


def _columns(stream: TextIO) -> int:
    """The cells of a terminal's line, as the user or the terminal gives them; 0 for what is piped."""
    if not stream.isatty():
        return 0
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() else os.get_terminal_size(stream.fileno()).columns


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Prints a text on standard output or standard error."""
    typer.echo(printable(text), err=err, nl=nl)


def error_text(error: UserError) -> str:
    """An error as one line; several faults of a recipe have a line each."""
    text = printable(with_options(str(error)))
    return (
        f"error: {text}"
        if len(text) < MOST_ERROR_CHARS
        else f"error: {text[: MOST_ERROR_CHARS // 2]} ... {text[-MOST_ERROR_CHARS // 2 :]}"
    )


def print_error(error: UserError) -> None:
    """Prints an error on standard error."""
    say(error_text(error), err=True)


def print_errors(errors: Sequence[UserError]) -> None:
    """Prints the errors of several runs; equal ones once, with their number."""
    for text, count in Counter(map(error_text, errors)).items():
        say(f"{text} ({count:,} runs)" if count > 1 else text, err=True)


def print_warnings() -> None:
    """From now on a warning of the library, such as one about a damaged record, is one line on standard error, once."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = one_line(with_options(str(message)))
        if text not in seen:
            seen.add(text)
            say(f"warning: {text}", err=True)

    warnings.simplefilter("always", UserWarning, append=True)  # Python's own way to show one once differs by caller
    warnings.showwarning = show
