"""Columns of the user's data that are neither text nor label, but group its rows: a source, a product, a year."""

from collections import Counter
from collections.abc import Sequence

from finetune.data.table import Table
from finetune.task_types.columns import Layout

MOST_COLUMNS = 5
MOST_VALUES = 12  # of a column
FEWEST_ROWS = 5  # that the second most frequent value has
VALUE_CHARS = 60  # characters of a value
KINDS = (str, int, bool, type(None))


def slices_of(layout: Layout, table: Table, rows: Sequence[int]) -> dict[str, list[str]]:
    """The first columns with few different values, as the texts of their cells in these rows of the table."""
    used = {*layout.text, *layout.label, layout.id}
    found: dict[str, list[str]] = {}
    for name, cells in table.columns.items():
        if len(found) < MOST_COLUMNS and name not in used and (values := _values(cells, rows)):
            found[name] = values
    return found


def _values(cells: Sequence[object], rows: Sequence[int]) -> list[str]:
    """The cells as texts; empty where they do not group the rows."""
    values: list[str] = []
    counts = Counter[str]()
    for row in rows:
        if not isinstance(cells[row], KINDS):
            return []
        value = "" if cells[row] is None else str(cells[row])
        counts[value] += 1
        if len(counts) > MOST_VALUES or len(value) > VALUE_CHARS:
            return []
        values.append(value)
    largest = counts.most_common(2)
    return values if len(largest) == 2 and largest[1][1] >= FEWEST_ROWS else []
