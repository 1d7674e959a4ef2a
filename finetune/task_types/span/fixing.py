"""Adjusts answers and their positions to a cleaned context."""

import json
from contextlib import suppress
from typing import Any

from finetune.data.characters import cleaned
from finetune.data.values import as_number


def moved(cell: Any, context: str, *, is_place: bool = False) -> Any:
    """A cell of answers, with their texts and first characters as they are in the cleaned context."""
    if isinstance(cell, dict):
        return {key: moved(inner, context, is_place=key == "answer_start") for key, inner in cell.items()}
    if isinstance(cell, list):
        return [moved(inner, context, is_place=is_place) for inner in cell]
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):
            return json.dumps(moved(json.loads(cell), context), ensure_ascii=False)
    place = as_number(cell) if is_place else None
    if place is not None:
        return len(cleaned(context[: int(place)]))
    return cleaned(cell) if isinstance(cell, str) else cell
