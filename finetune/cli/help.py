"""Help in the reader's language, in lines that fit a terminal."""

import re
import shutil
from collections.abc import Sequence
from functools import partial
from typing import Any
from unicodedata import east_asian_width

import typer

from finetune.languages.sentences import translated

WIDE = re.compile("[ᄀ-ᅟ⺀-꓏가-힣豈-﫿︰-﹏＀-｠￠-￦]")  # characters of two cells
FILLED = "\0"  # behind each of them, so that typer, which counts characters, counts cells
EXTRA = re.compile(
    r"(.*?)(?:(^|  )\[((?:default|required|env var|x[<>]|\d+[.\d]*<).*)\])?", re.DOTALL
)  # `  [default: 1]`
Formatter: Any = typer.Context.formatter_class


def in_help(text: str) -> str:
    """A sentence of the help."""
    return translated(text, "help")


def cells(text: str) -> int:
    """The cells of a terminal that a text takes."""
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text)


class Help(Formatter):  # type: ignore[misc]  # of typer, whose own class it is by version
    """What help is written with: headings, sentences and examples in the language of the reader."""

    def write(self, string: str) -> None:
        """Writes what is laid out."""
        super().write(string.replace(FILLED, ""))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Writes how the command is called."""
        super().write_usage(prog, args, prefix or _filled(f"{in_help('Usage')}: "))

    def write_heading(self, heading: str) -> None:
        """Writes the name of a section."""
        super().write_heading(in_help(heading))

    def write_text(self, text: str) -> None:
        """Writes what a command does."""
        super().write_text(_filled(in_help(text)))

    def write_dl(self, rows: Sequence[tuple[str, str]], *given: Any, **extra: Any) -> None:
        """Writes options, settings or commands, each with what it does."""
        super().write_dl([(name, _filled(_option(text))) for name, text in rows], *given, **extra)


class HelpContext(typer.Context):
    """A context whose help fits narrow terminals too: typer's is at least 50 wide, with names of up to 30."""

    formatter_class = Help

    def make_formatter(self) -> Any:
        """What help is written with."""
        formatter: Any = super().make_formatter()
        formatter.width = min(formatter.width, shutil.get_terminal_size().columns - 1)
        formatter.write_dl = partial(formatter.write_dl, col_max=min(30, formatter.width // 3))
        return formatter


def example_lines(examples: Sequence[tuple[str, str]], most: int) -> str:
    """Examples in two columns; below each other where that would be wider than so many cells."""
    said = [(typed, in_help(does)) for typed, does in examples]
    width = max(cells(typed) for typed, _ in said)
    fits = all(width + 4 + cells(does) <= most for _, does in said)
    pad = [typed + " " * (width - cells(typed)) for typed, _ in said]
    return "\n".join(
        f"  {padded}  {does}" if fits else f"  {typed}\n      {does}"
        for padded, (typed, does) in zip(pad, said, strict=True)
    )


def _filled(text: str) -> str:
    return WIDE.sub(rf"\g<0>{FILLED}", text)


def _option(text: str) -> str:
    """What an option does, then its default and bounds, which typer has written behind it."""
    found = EXTRA.fullmatch(text)
    assert found is not None
    says, space, extra = in_help(found[1]), found[2] or "", found[3]
    return says if extra is None else f"{says}{space}[{'; '.join(map(in_help, extra.split('; ')))}]"
