"""Asks how to read ambiguous data on a terminal; elsewhere that is an error naming the settings."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from finetune.cli.terminal import say
from finetune.errors import UserError
from finetune.runs.settings import override_value

if TYPE_CHECKING:
    from finetune.task_types.candidates import Ambiguous

T = TypeVar("T")


def asking(read: Callable[[dict[str, Any]], T], settings: dict[str, Any]) -> T:
    """Calls `read` with the settings, asking for more until they are unambiguous.

    Raises Ambiguous if there is no terminal.
    """
    while True:
        try:
            return read(settings)
        except UserError as question:
            from finetune.task_types.candidates import Ambiguous

            if not (isinstance(question, Ambiguous) and sys.stdin.isatty() and sys.stderr.isatty()):
                raise
            settings |= _answer(question)


def _answer(question: "Ambiguous") -> dict[str, Any]:
    """The settings that the user chooses by number."""
    from finetune.task_types.candidates import copied, single_settings

    say(f"{question.what}:", err=True)
    for number, (setting, meaning) in enumerate(question.choices, start=1):
        say(f"  {number}  {setting}" + (f"  ({meaning})" if meaning else ""), err=True)
    chosen = 0
    while not 1 <= chosen <= len(question.choices):
        chosen = typer.prompt(f"Which one, 1 to {len(question.choices)}", type=int, err=True)
    setting = question.choices[chosen - 1][0]
    say(f"to skip this question, add {copied(setting)}", err=True)
    pairs = (single.partition("=") for single in single_settings(setting))
    return {name: override_value(name, value) for name, _, value in pairs}
