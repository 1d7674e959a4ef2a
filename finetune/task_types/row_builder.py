"""Builds rows from records by a layout, with the reason why some records make no row."""

from collections.abc import Iterator
from typing import Any

from finetune.data.records import Record
from finetune.data.rows import OwnRow
from finetune.data.table import Table
from finetune.data.values import as_text
from finetune.task_types.columns import Layout
from finetune.task_types.row_issues import NoRow
from finetune.task_types.types import named_type


def rows_of(layout: Layout, table: Table) -> Iterator[tuple[int, OwnRow | NoRow]]:
    """Yields each row of a table with its index, or why there is none."""
    kind, names = named_type(layout.shape), list(table.columns)
    values: dict[str, Any] = {}  # one for all rows: creating one takes longer than using it
    for index, cells in enumerate(zip(*table.columns.values(), strict=True)):
        values.update(zip(names, cells, strict=True))
        row: OwnRow | NoRow
        try:
            row = kind.row(layout, values, _name(layout, values, table.rows[index]))
        except NoRow as why:
            row = why
        yield index, row


def row_of(layout: Layout, record: Record) -> OwnRow:
    """The row from a record; its `gold` is None where the label is missing. Raises NoRow."""
    if record.fault:
        raise NoRow(record.fault.what, record.fault.issue)
    return named_type(layout.shape).row(layout, record.values, _name(layout, record.values, record.row))


def _name(layout: Layout, values: dict[str, Any], number: int) -> str:
    """The row's id, or its number."""
    given = as_text(values.get(layout.id)).strip() if layout.id else ""
    return given or str(number)
