"""Columns of character spans: `[[0, 4, "PER"]]` or `[{"start_offset": 0, ...}]`, or both in one column."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from finetune.data.values import as_list, is_missing, parsed_literal

PLACES = (
    ("start", "end"),
    ("start_offset", "end_offset"),
    ("startOffset", "endOffset"),
    ("begin", "end"),
    ("from", "to"),
)
NAMES = (
    "label",
    "labels",
    "type",
    "entity",
    "entity_type",
    "tag",
    "category",
    "class",
    "entity_group",
    "name",
    "polarity",
    "slot",
)
LISTS = ("0", "1", "2")  # for lists in place of objects
NEARLY_ALL = 0.95  # share of the cells, and of their items, that must be spans


def span_form(cells: Sequence[Any]) -> tuple[str, str, str] | None:
    """Detects the keys of start, end and label that most spans in a column have (`LISTS` for lists).

    None for a column of other things: where more than a few cells, or their items, cannot be read as spans.
    """
    filled = [cell for cell in cells if not is_missing(cell)]
    found = [items for cell in filled if (items := items_in(cell)) is not None]
    items = [item for some in found for item in some]
    forms = Counter(form for item in items for form in _forms(item))
    if not forms or len(found) < NEARLY_ALL * len(filled):
        return None
    form, _ = forms.most_common(1)[0]
    read = sum(form_in(item, form) is not None for item in items)
    return form if read >= NEARLY_ALL * len(items) else None


def items_in(cell: Any) -> list[Any] | None:
    """The items of a list of spans; a span without a list around it is one item. None for any other cell."""
    if isinstance(cell, str) and cell.lstrip().startswith("{"):
        cell = parsed_literal(cell)
    found = cell if isinstance(cell, dict) else as_list(cell)
    if any(_forms(found)):
        return [found]
    return found if isinstance(found, list) else None


def form_in(item: Any, form: Sequence[str]) -> tuple[str, ...] | None:
    """The form in which an item of a column is a span: the column's, or another one; None where it is not a span.

    An item with the column's start and end but without its label has none: another field of it is not its label.
    """
    forms = list(_forms(item))
    if tuple(form) in forms:
        return tuple(form)
    return forms[0] if forms and all(other[:2] != tuple(form[:2]) for other in forms) else None


def _forms(item: Any) -> Iterator[tuple[str, str, str]]:
    """The forms in which an item can be read."""
    if is_triple(item):
        yield LISTS
    if isinstance(item, dict):
        for start, end in PLACES:
            if is_place(item.get(start)) and is_place(item.get(end)):
                yield from ((start, end, name) for name in NAMES if name in item)


def is_triple(item: Any) -> bool:
    """Whether an item is a list of start, end and label."""
    if not isinstance(item, list | tuple) or len(item) < 3:
        return False
    return is_place(item[0]) and is_place(item[1]) and isinstance(item[2], str) and bool(item[2])


def is_place(value: Any) -> bool:
    """Whether a value can be a character offset."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
