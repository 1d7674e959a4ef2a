"""Builds rows from records by a layout, with the reason why some make no row, or have a label that no model knows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from finetune.data.messages import noun, places, shown, so_many
from finetune.data.records import Record
from finetune.data.rows import OwnRow, Row
from finetune.data.table import Table
from finetune.data.values import as_text
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.task import Task
from finetune.task_types.types import named_type

LABELS_SHOWN = 3  # labels and rows in a note


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


@dataclass(kw_only=True)
class UnknownLabels:
    """Collects the rows whose label the model does not know."""

    task: Task
    layout: Layout
    names: dict[str, None] = field(default_factory=dict)
    rows: list[tuple[int, int]] = field(default_factory=list)

    def adds(self, row: Row, place: tuple[int, int]) -> bool:
        """Whether the row has such a label; then it is collected with its place, (row, line)."""
        label = self.task.labels_of([row])[0].value
        if label is None or (self.task.fits(label, row) and not self.task.fault(row)):
            return False
        self.rows.append(place)
        found = named_type(self.layout.shape).labels_in(row.gold)
        self.names.update(dict.fromkeys(name for name in found if name not in self.layout.labels))
        return True

    def notes(self) -> Sequence[str]:
        """`1 row with the label 'goood', unknown to the model (row 41)`; none without such rows."""
        if not self.rows:
            return []
        names, more = list(self.names), len(self.names) - LABELS_SHOWN
        listed = " ".join([", ".join(map(shown, names[:LABELS_SHOWN])), f"and {more:,} more"][: 1 + (more > 0)])
        labels = f"the {noun(len(names), 'label')} {listed}," if names else "a label"
        return [
            f"{so_many(len(self.rows))} with {labels} unknown to the model ({places(self.rows, most=LABELS_SHOWN)})"
        ]
