"""Fields of objects in cells, as columns of their own: `labels.quality` of `{"quality": 3, "tone": 4}`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

MOST_FIELDS = 200  # of one column
DEEPEST = 4  # objects within objects
SEEN = 20_000
OBJECTS = 0.5  # share of the cells that hold one


def cell_at(values: Mapping[str, Any], name: str) -> Any:
    """The cell of that name, or the field of an object that a dotted name means; None where there is neither."""
    if name in values or "." not in name:
        return values.get(name)
    parent, _, field = name.rpartition(".")
    found = cell_at(values, parent)
    return found.get(field) if isinstance(found, dict) else None


def fields_of(columns: Mapping[str, Sequence[Any]], *, depth: int = 1) -> dict[str, list[Any]]:
    """A column for each field of the objects in these columns, and of the objects in those.

    SQuAD's answers (an object of two lists) are one value.
    """
    fields: dict[str, list[Any]] = {}
    for name, cells in columns.items():
        some = [cell for cell in islice(cells, SEEN) if cell is not None]
        objects = [cell for cell in some if isinstance(cell, dict)]
        if not objects or len(objects) <= OBJECTS * len(some) or all("answer_start" in cell for cell in objects):
            continue
        keys = Counter(key for cell in objects for key in cell)
        for key, _ in islice(keys.items(), MOST_FIELDS):
            fields[f"{name}.{key}"] = [cell.get(key) if isinstance(cell, dict) else None for cell in cells]
    fields = {name: cells for name, cells in fields.items() if name not in columns}
    return fields | (fields_of(fields, depth=depth + 1) if fields and depth < DEEPEST else {})
