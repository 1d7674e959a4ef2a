"""How the user's data was read: file formats and the meaning of columns."""

from finetune.cli.fitted_table import Column, FittedTable
from finetune.data.messages import so_many
from finetune.data.table import Table as Data
from finetune.task_types.columns import Layout


def layout_table(layout: Layout) -> FittedTable:
    """The meaning of each column, and why it was inferred."""
    given = {
        "shape": layout.shape,
        "text": ", ".join(layout.text),
        "spans": ", ".join(layout.marked or layout.markers) + (f" (ends {ends})" if (ends := layout.span_ends) else ""),
        "label": ", ".join(layout.label) or "none was found",
        "order": " < ".join(layout.order),
        "levels": layout.levels,
        "id": layout.id,
        "group": layout.group,
    }
    rows = [(name, value, layout.reasons.get(name, "")) for name, value in given.items() if value]
    words = Column(name="", words=True)
    return FittedTable(title="layout", columns=[Column(name=""), words, words], rows=rows, headed=False)


def file_line(split: str, table: Data) -> str:
    """`train reviews.csv: CSV, comma-separated, UTF-8; 120 rows`."""
    return f"{split} {table.path}: {table.form}; {so_many(len(table) + len(table.faults))}"
