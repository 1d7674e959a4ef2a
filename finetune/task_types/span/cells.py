"""Parses answers from cells."""

import json
from contextlib import suppress
from typing import Any

from finetune.data.values import as_number, as_text, is_missing


def answers_of(cell: Any, start: Any) -> list[tuple[str, int | None]]:
    """(text, first character) of each answer, from any known notation of a cell."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):
            cell = json.loads(cell)
    if isinstance(cell, dict) and isinstance(cell.get("text"), list):
        starts = cell.get("answer_start") or [None] * len(cell["text"])
        cell = [{"text": text, "answer_start": place} for text, place in zip(cell["text"], starts, strict=False)]
    if not isinstance(cell, list):
        cell = [] if is_missing(cell) else [{"text": as_text(cell), "answer_start": start}]
    pairs = []
    for answer in cell:
        found = answer if isinstance(answer, dict) else {"text": answer}
        place = as_number(found.get("answer_start"))
        pairs.append((as_text(found.get("text")), None if place is None else int(place)))
    return [(text, place) for text, place in pairs if text.strip()]
