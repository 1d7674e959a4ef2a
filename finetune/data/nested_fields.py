"""Fields of objects in cells, as separate columns: `labels.quality` of `{"quality": 3, "tone": 4}`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from finetune.data.formats.spans import span_form, unknown_names
from finetune.data.values import parsed_literal

MOST_FIELDS = 200  # of one column
MOST_FIELDS_IN_ALL = 2_000
DEEPEST_OBJECTS = 4  # objects within objects
CELLS_SEEN = 20_000
OBJECTS = 0.5  # share of the cells that hold one


def cell_at(values: Mapping[str, Any], name: str) -> Any:
    """The cell of that name, or the field of an object for a dotted name; None where there is neither."""
    if name in values or "." not in name:
        return values.get(name)
    parent, _, field = name.rpartition(".")
    return _field(parsed(cell_at(values, parent)), field)


def nested_fields(columns: Mapping[str, Sequence[Any]], *, depth: int = 1) -> dict[str, list[Any]]:
    """A column for each field of the objects in these columns, or in lists there, and of the objects in those.

    SQuAD's answers (an object of two lists) and lists of spans are one value. A field with a line break or the like in
    its name is left out: no setting could name it.
    """
    fields: dict[str, list[Any]] = {}
    for name, cells in columns.items():
        if len(fields) >= MOST_FIELDS_IN_ALL:
            break
        some = [parsed(cell) for cell in islice(cells, CELLS_SEEN) if cell is not None]
        keys = Counter(key for cell in some for one in _objects(cell) for key in one if str(key).isprintable())
        few = sum(bool(_objects(cell)) for cell in some) <= OBJECTS * len(some)
        if not keys or few or "answer_start" in keys or _are_spans(some):
            continue
        for key in islice((key for key in keys if str(key).isprintable()), MOST_FIELDS):  # names are in messages
            fields[f"{name}.{key}"] = [_field(parsed(cell), key) for cell in cells]
    fields = {name: cells for name, cells in fields.items() if name not in columns}
    return fields | (nested_fields(fields, depth=depth + 1) if fields and depth < DEEPEST_OBJECTS else {})


def holds(columns: Mapping[str, Sequence[Any]], name: str, field: str) -> bool:
    """Whether the field is of objects in the column of that name: `answer.label` of `answer`."""
    inside = field.startswith(f"{name}.")
    return inside and any(_objects(parsed(cell)) for cell in islice(columns[name], CELLS_SEEN) if cell is not None)


def parsed(cell: Any) -> Any:
    """Parses a text that is an object, or a list of them, in JSON or Python; any other cell is returned unchanged."""
    if not isinstance(cell, str) or cell[:1] not in "[{" or "{" not in cell[:3]:
        return cell
    found = parsed_literal(cell)
    return cell if found is None else found


def _are_spans(cells: Sequence[Any]) -> bool:
    few = cells[:1000]
    return any(isinstance(cell, list) for cell in cells) and bool(span_form(few) or unknown_names(few))


def _objects(cell: Any) -> list[dict[str, Any]]:
    """The objects in a cell: itself, or the items of a list of objects only."""
    if isinstance(cell, dict):
        return [cell]
    objects = isinstance(cell, list) and bool(cell) and all(isinstance(item, dict) for item in cell)
    return cell if objects else []


def _field(cell: Any, key: str) -> Any:
    """The field of an object; for a list of objects the list of their fields, or the only one."""
    if isinstance(cell, dict):
        return cell.get(key)
    found = [one.get(key) for one in _objects(cell)]
    return found[0] if len(found) == 1 else found or None
