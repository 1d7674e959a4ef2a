"""Parses choices and labels from cells."""

from collections.abc import Sequence
from typing import Any

from finetune.data.values import as_list, as_number, as_text, is_missing
from finetune.task_types.choice.task import LETTERS


def choices_of(cells: Sequence[Any]) -> tuple[str, ...]:
    """The choices of a row, from a list or from columns."""
    found = as_list(cells[0]) if len(cells) == 1 else None
    every = [cell for cell in cells if not is_missing(cell)] if found is None else found
    return tuple(as_text(choice) for choice in every)


def choice_named(cell: Any, choices: Sequence[str], *, counted_from: int) -> dict[str, int | None]:
    """The index of the choice that a label means when read as text, letter or number; None where it means no choice."""
    text, number = as_text(cell).strip(), as_number(cell)
    letter = LETTERS[: len(choices)].find(text.upper()) if len(text) == 1 else -1
    place = int(number) - counted_from if number is not None and number.is_integer() else -1
    return {
        "text": choices.index(text) if text in choices else None,
        "letter": letter if letter >= 0 else None,
        "number": place if 0 <= place < len(choices) else None,
    }
