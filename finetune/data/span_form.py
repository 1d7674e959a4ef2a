"""Columns of character spans: `[[0, 4, "PER"]]` or `[{"start_offset": 0, ...}]`."""

from collections.abc import Sequence
from typing import Any

from finetune.data.values import as_list

PLACES = (
    ("start", "end"),
    ("start_offset", "end_offset"),
    ("startOffset", "endOffset"),
    ("begin", "end"),
    ("from", "to"),
)
NAMES = ("label", "labels", "type", "entity", "entity_type", "tag", "category", "class", "entity_group", "name")
LISTS = ("0", "1", "2")  # for lists in place of objects


def span_form(cells: Sequence[Any]) -> tuple[str, str, str] | None:
    """Detects the keys of start, end and label in a column of spans (`LISTS` for lists); None for other columns."""
    items = [item for cell in cells for item in as_list(cell) or ()]
    if not items:
        return None
    if all(is_triple(item) for item in items):
        return LISTS
    if not all(isinstance(item, dict) for item in items):
        return None
    for start, end in PLACES:
        for name in NAMES:
            if all({start, end, name} <= set(item) and is_place(item[start]) for item in items):
                return start, end, name
    return None


def is_triple(item: Any) -> bool:
    """Whether an item is a list of start, end and label."""
    if not isinstance(item, list | tuple) or len(item) < 3:
        return False
    return is_place(item[0]) and is_place(item[1]) and isinstance(item[2], str) and bool(item[2])


def is_place(value: Any) -> bool:
    """Whether a value can be a character offset."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
