"""Asks at the terminal where data can be read in several ways; elsewhere that is an error which names the settings."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from finetune.data.candidates import Ambiguous
from finetune.recipe import override_value
from finetune.terminal import echo

T = TypeVar("T")


def asking(read: Callable[[dict[str, Any]], T], settings: dict[str, Any]) -> T:
    """What `read` gives for the settings, to which answers are added until they are enough.

    Raises Ambiguous where nobody can be asked.
    """
    while True:
        try:
            return read(settings)
        except Ambiguous as question:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise
            name, value = _answer(question)
            settings[name] = value


def _answer(question: Ambiguous) -> tuple[str, Any]:
    """The setting that the user chooses by its number."""
    echo(f"{question.what}:", err=True)
    for number, (setting, meaning) in enumerate(question.choices, start=1):
        echo(f"  {number}  {setting}" + (f"  ({meaning})" if meaning else ""), err=True)
    chosen = 0
    while not 1 <= chosen <= len(question.choices):
        chosen = typer.prompt(f"Which one, 1 to {len(question.choices)}", type=int, err=True)
    name, _, value = question.choices[chosen - 1][0].partition("=")
    echo(f"the same without a question: add {name}={value}", err=True)
    return name, override_value(value)
