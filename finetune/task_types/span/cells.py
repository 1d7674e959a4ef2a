"""Parses answers from cells, and locates them in their contexts."""

from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any

from finetune.data.table import parsed
from finetune.data.values import as_list, as_number, as_text, is_missing

CHARS_OFF = 40  # characters by which an answer_start may be off and still be fixed


def answers_of(cell: Any, start: Any) -> list[tuple[str, int | None]]:
    """(text, first character) of each answer, from any known notation of a cell; an object without a `text` as it is.

    A cell is a text, a list, an object of lists or a list of objects, or one of these as JSON, Python or numpy write
    it.
    """
    found = as_list(cell)
    found = parsed(cell) if found is None else found
    if isinstance(found, dict) and "text" in found:
        found, start = found["text"], found.get("answer_start")
    if not isinstance(found, list):
        found = [] if is_missing(found) else [found]
    pairs = []
    for answer, begin in zip(found, chain(as_list(start) or [start], repeat(None)), strict=False):
        inner = answer if isinstance(answer, dict) and "text" in answer else {"text": answer, "answer_start": begin}
        place = as_number(inner.get("answer_start"))
        pairs.append((as_text(inner["text"]), None if place is None else int(place)))
    return [(text, place) for text, place in pairs if text.strip()]


def start_column(label: str) -> str:
    """The column of the first characters of answers in another: `answers.answer_start` of `answers.text`."""
    return f"{label.removesuffix('text')}answer_start" if label.endswith(".text") else "answer_start"


def is_answered(values: Mapping[str, Any], cell: Any) -> bool:
    """Whether a record says what the answer is: by its cell, or by `is_impossible`, that there is none."""
    null = cell is None or (isinstance(cell, float) and cell != cell)
    return not null or as_text(values.get("is_impossible")).strip().lower() in ("true", "1")


def located(context: str, text: str, start: int) -> int | None:
    """The character at which the text begins: `start` if it is there; None unless it occurs exactly once nearby."""
    if text and start >= 0 and context.startswith(text, start):
        return start
    begin = max(0, start - CHARS_OFF)
    nearby = context[begin : max(0, start + len(text) + CHARS_OFF)]
    return begin + nearby.index(text) if text and nearby.count(text) == 1 else None
