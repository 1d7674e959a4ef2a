"""How the user's data was read: file formats and the meaning of columns."""

from rich.table import Table

from finetune.data.messages import so_many
from finetune.data.table import Table as Data
from finetune.task_types.columns import Layout


def layout_table(layout: Layout) -> Table:
    """The meaning of each column, and why it was inferred."""
    given = {
        "shape": layout.shape,
        "text": ", ".join(layout.text),
        "label": ", ".join(layout.label) or "none was found",
        "id": layout.id,
        "group": layout.group,
    }
    table = Table(title="layout", title_justify="left", show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for name, value in given.items():
        if value:
            table.add_row(name, value, layout.reasons.get(name, ""))
    return table


def file_line(split: str, table: Data) -> str:
    """`train reviews.csv: CSV, comma-separated, UTF-8; 120 rows`."""
    return f"{split} {table.path}: {table.form}; {so_many(len(table) + len(table.faults))}"
