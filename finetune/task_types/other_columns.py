"""Columns that are neither text nor label: one that says which rows are dev, and those that group rows, as a year."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from finetune.data.messages import shown
from finetune.data.paths import is_file
from finetune.data.table import Table
from finetune.data.values import as_text
from finetune.errors import UserError, nearest
from finetune.task_types.columns import Layout

TRAIN_WORDS = frozenset({"train", "training"})
DEV_WORDS = frozenset({"dev", "val", "valid", "validation"})
MOST_COLUMNS = 5
MOST_VALUES = 12  # of a column
FEWEST_ROWS = 5  # that the second most frequent value has
VALUE_CHARS = 60  # characters of a value
KINDS = (str, int, bool, type(None))


def dev_by_column(table: Table, name: str, indexes: Sequence[int]) -> set[int]:
    """Which of the rows with these indexes in the table are dev, by their place among them.

    Raises UserError where there is no such column, for a cell that says neither dev nor train, and where no row is one
    of them.
    """
    if name not in table.columns:
        raise UserError(
            f"split={name}: {table.path} has no such column, and there is no such file",
            f"{nearest(name, list(table.columns))}Name a column that says train or dev",
        )
    says = [as_text(table.columns[name][index]).strip().lower() for index in indexes]
    for place, word in enumerate(says):
        if word not in TRAIN_WORDS | DEV_WORDS:
            row = table.rows[indexes[place]]
            raise UserError(
                f"{table.path}: row {row} has {shown(word)} in the column '{name}', which split= names",
                "Write train or dev there, and give test rows in a file of their own: test=FILE",
            )
    dev = {place for place, word in enumerate(says) if word in DEV_WORDS}
    if len(dev) in (0, len(says)):
        raise UserError(
            f"{table.path}: all rows are {'dev' if dev else 'train'} by the column '{name}'",
            "Leave split= out to have dev drawn",
        )
    return dev


def is_saved_split(table: Table, name: str) -> bool:
    """Whether `split=` names the file of an earlier run, and no column."""
    return name not in table.columns and is_file(Path(name))


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
