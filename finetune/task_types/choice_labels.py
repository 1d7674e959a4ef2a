"""How a label names one of several choices: by its text, its letter or the name of its column, or its number."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

from finetune.data.values import as_list, as_number, as_text, is_missing
from finetune.data.words.lists import word_list

LETTERS = "ABCDEFGHIJ"
WAYS = ("text", "letter", "0", "1")  # values of `choices_by`, in the order in which they are taken; 1: counted from 1


def choices_of(cells: Sequence[Any]) -> tuple[str, ...]:
    """The choices of a row, from a list or from columns."""
    listed = as_list(cells[0]) if len(cells) == 1 else None
    items = [cell for cell in cells if not is_missing(cell)] if listed is None else listed
    return tuple(as_text(choice) for choice in items)


def choices_meant(cell: Any, choices: Sequence[str], columns: Sequence[str] = ()) -> dict[str, int]:
    """The index of the choice that a label means, in each of the WAYS in which it means one.

    Letters and numbers may have a word or signs around them: `option B`, `(b)`, `2번`, `②`. `columns` are the choices'
    columns; their names are read like letters.
    """
    text = as_text(cell).strip()
    sign = _sign(text) if len(text) > 1 or not text.isascii() else text
    names = [name.lower() for name in columns]
    number = as_number(sign if isinstance(cell, str) else cell)
    place = int(number) if number is not None and number.is_integer() else -1
    letter = LETTERS.find(sign.upper()) if len(sign) == 1 else -1
    letter = names.index(text.lower()) if text.lower() in names else letter
    places = (choices.index(text) if text in choices else -1, letter, place, place - 1)
    return {way: place for way, place in zip(WAYS, places, strict=True) if 0 <= place < len(choices)}


def choice_name(place: int, names: Sequence[str], counted_from: int) -> int | str:
    """The name of a choice: by `names` where it has one, else its number."""
    return names[place] if place < len(names) and names[place] else place + counted_from


def _sign(text: str) -> str:
    """The letter or number in `option B`, `(b)` or `②`; any other text unchanged."""
    plain = unicodedata.normalize("NFKC", text)
    match = _around().fullmatch(plain)
    return match[1] if match else plain


@cache
def _around() -> re.Pattern[str]:
    """A letter or number with what may be around it."""
    before = "|".join(map(re.escape, (*word_list("choice_stem"), *word_list("label"))))
    after = "|".join(map(re.escape, word_list("choice_after")))
    sign = r"(\d{1,2}|(?<![^\W\d_])[a-j])"
    return re.compile(rf"[\s(\[{{<#*]*(?:(?:{before})[\s(\[_:.#-]*)?{sign}(?:{after})?[\s)\]}}>.:*]*", re.IGNORECASE)
