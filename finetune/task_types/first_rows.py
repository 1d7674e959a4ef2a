"""Describes data as it was read: first rows, label values, and the columns that could be the label instead."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from finetune.data.column_types import SPLITS
from finetune.data.messages import shown, so_many
from finetune.data.table import Table
from finetune.data.values import as_text, is_missing
from finetune.task_types.columns import Layout
from finetune.task_types.own_type import TEXT_CHARS_SHOWN, OwnType, counted_labels, inputs_of
from finetune.task_types.ranking.groups import ranking_lines
from finetune.task_types.row_builder import rows_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.types import named_type

ROWS = 2
MOST_VALUES = 12  # values of a label in a summary
CELLS_SEEN = 20_000  # cells inspected in a column that may name splits
ROWS_MEASURED = 2_000  # rows whose tokens are estimated
ROWS_COUNTED = 200_000  # rows whose labels are counted


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
    yield from ranking_lines(layout, table.columns)
    for rival in layout.rivals:
        yield f"not the label, but could be: {rival}"


def _shown(value: Any) -> str:
    return shown(value if isinstance(value, str) else " | ".join(value), TEXT_CHARS_SHOWN)


def _summary(kind: OwnType, golds: Sequence[Any]) -> str:
    """The labels with their counts, the most frequent first; the range of numbers; how many rows have something."""
    if golds and all(isinstance(gold, float) for gold in golds):
        mean, count = sum(golds) / len(golds), len(set(golds))
        return f"{min(golds):g} to {max(golds):g}, mean {mean:.4g}, {count:,} different ones"
    if counts := counted_labels(kind, golds):
        listed = [f"{shown(name)[1:-1]} {count:,}" for name, count in counts.most_common(MOST_VALUES)]
        more = f", and {len(counts) - MOST_VALUES:,} more" if len(counts) > MOST_VALUES else ""
        return ", ".join(listed) + more
    return f"{sum(map(bool, golds)):,} rows with, {sum(not gold for gold in golds):,} without"


def split_columns(layout: Layout, table: Table, *, used: str = "") -> list[str]:
    """Columns that name a split in each row but the one that is used; rows of all their splits are trained on."""
    found = []
    for name, cells in table.columns.items():
        if name in (*layout.text, *layout.label, layout.group, used):
            continue
        values = {as_text(cell).strip().lower() for cell in islice(cells, CELLS_SEEN) if not is_missing(cell)}
        if len(values) > 1 and values <= SPLITS:
            found.append(name)
    return found


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
