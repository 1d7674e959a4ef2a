"""Describes data as it was read: first rows and labels; and columns that say dev, or group rows, such as a year."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from finetune.data.column_types import SPLITS
from finetune.data.messages import shown, so_many
from finetune.data.paths import is_file
from finetune.data.table import Table
from finetune.data.values import as_text, is_missing
from finetune.errors import UserError, nearest
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.own_type import TEXT_CHARS_SHOWN, OwnType, counts_of_labels, inputs_of
from finetune.task_types.types import named_type, rows_of

ROWS = 2
MOST_VALUES = 12  # values of a label in a summary, and of a column that groups rows
CELLS_SEEN = 20_000  # cells inspected in a column that may name splits
ROWS_MEASURED = 2_000  # rows whose tokens are estimated
ROWS_COUNTED = 200_000  # rows whose labels are counted


TRAIN_WORDS = frozenset({"train", "training"})
DEV_WORDS = frozenset({"dev", "val", "valid", "validation"})
MOST_COLUMNS = 5
FEWEST_ROWS = 5  # that the second most frequent value has
VALUE_CHARS = 60  # characters of a value
KINDS = (str, int, bool, type(None))


def file_line(split: str, table: Table) -> str:
    """`train reviews.csv: CSV, comma-separated, UTF-8; 120 rows`."""
    return f"{split} {table.path}: {table.form}; {so_many(len(table) + len(table.faults))}"


def describe_rows(layout: Layout, table: Table, *, split: str = "") -> Iterator[str]:
    """`row 1: text = 'A fine film.', label = good`, then the label's values with counts, then rival columns.

    `split` is the column that says which rows are dev.
    """
    kind = named_type(layout.shape)
    good = ((index, row) for index, row in rows_of(layout, table) if not isinstance(row, NoRow))
    for index, row in islice(good, ROWS):
        values = {name: getattr(row, name) for name in inputs_of(kind)}
        values = values if len(values) > 1 else dict.fromkeys(values, row.input)
        texts = (f"{name} = {_shown(value)}" for name, value in values.items() if value is not None)
        yield f"row {table.rows[index]}: {', '.join(texts)}, label = {kind.label_words(row)}"
    if layout.label:
        rows = (row for _, row in islice(rows_of(layout, table), ROWS_COUNTED) if not isinstance(row, NoRow))
        part = f" (of the first {ROWS_COUNTED:,} rows)" if len(table) > ROWS_COUNTED else ""
        yield f"labels: {_summary(kind, [row.gold for row in rows if row.gold is not None])}{part}"
    for name in split_columns(layout, table, used=split):
        yield f"the column {shown(name)} says which rows are for training: it is used with split={name} alone"
    for rival in layout.rivals:
        yield f"not the label, but could be: {rival}"


def _shown(value: Any) -> str:
    return shown(value if isinstance(value, str) else " | ".join(value), TEXT_CHARS_SHOWN)


def _summary(kind: OwnType, golds: Sequence[Any]) -> str:
    """The labels with their counts, the most frequent first; the range of numbers; how many rows have something."""
    if golds and all(isinstance(gold, float) for gold in golds):
        mean, count = sum(golds) / len(golds), len(set(golds))
        return f"{min(golds):g} to {max(golds):g}, mean {mean:.4g}, {count:,} different ones"
    if counts := counts_of_labels(kind, golds):
        listed = [f"{shown(name)[1:-1]} {count:,}" for name, count in counts.most_common(MOST_VALUES)]
        more = f", and {len(counts) - MOST_VALUES:,} more" if len(counts) > MOST_VALUES else ""
        return ", ".join(listed) + more
    return f"{sum(map(bool, golds)):,} rows with, {sum(not gold for gold in golds):,} without"


def split_columns(layout: Layout, table: Table, *, used: str = "") -> list[str]:
    """Columns that name a split in each row but the one that is used; rows of all their splits are trained on."""
    columns = []
    for name, cells in table.columns.items():
        if name in (*layout.text, *layout.label, layout.group, used):
            continue
        values = {as_text(cell).strip().lower() for cell in islice(cells, CELLS_SEEN) if not is_missing(cell)}
        if len(values) > 1 and values <= SPLITS:
            columns.append(name)
    return columns


def tokens_of_nearly_all(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> float:
    """An upper estimate of the tokens that nearly all of the first rows have; 0 where a row's length is fixed."""
    if named_type(layout.shape).max_length is not None:
        return 0
    rows = range(min(ROWS_MEASURED, len(columns[layout.text[0]])))
    texts = ([as_text(columns[name][row]) for name in layout.text_columns] for row in rows)
    sizes = sorted(sum(map(_about_tokens, cells)) for cells in texts)
    return sizes[int(0.95 * len(sizes))] if sizes else 0


def _about_tokens(text: str) -> float:
    """An upper estimate of a text's tokens: 1.4 per word, and 2 per letter of a non-Latin script."""
    foreign = 0 if text.isascii() else sum(char > "\u02ff" for char in text)
    return max(1.4 * len(text.split()), (len(text) - foreign) / 4) + 2 * foreign


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
    groups: dict[str, list[str]] = {}
    for name, cells in table.columns.items():
        if len(groups) < MOST_COLUMNS and name not in used and (values := _values(cells, rows)):
            groups[name] = values
    return groups


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
