"""Files and tables: encodings, formats, what columns hold, and where a task's files are.

The public names are what a task needs to read its rows.
"""

from typing import TYPE_CHECKING

from finetune.lazy import names_of

if TYPE_CHECKING:
    from finetune.data.characters import same_text
    from finetune.data.formats import spans
    from finetune.data.formats.delimited import CSV, TSV, read_strictly
    from finetune.data.issues import Finding, Issue
    from finetune.data.messages import percent, shown
    from finetune.data.open_files import numbered_lines
    from finetune.data.rows import ADDED_LATER, Rows, grouped
    from finetune.data.source import Source, hub_rows
    from finetune.data.table import Table, cell_at
    from finetune.data.values import as_number, as_text, is_missing

__all__ = [
    "ADDED_LATER",
    "CSV",
    "TSV",
    "Finding",
    "Issue",
    "Rows",
    "Source",
    "Table",
    "as_number",
    "as_text",
    "cell_at",
    "grouped",
    "hub_rows",
    "is_missing",
    "numbered_lines",
    "percent",
    "read_strictly",
    "same_text",
    "shown",
    "spans",
]
__getattr__ = names_of(
    __name__,
    {
        "data.characters": "same_text",
        "data.formats.delimited": "CSV TSV read_strictly",
        "data.formats.spans": "spans",
        "data.issues": "Finding Issue",
        "data.messages": "percent shown",
        "data.open_files": "numbered_lines",
        "data.rows": "ADDED_LATER Rows grouped",
        "data.source": "Source hub_rows",
        "data.table": "Table cell_at",
        "data.values": "as_number as_text is_missing",
    },
)
