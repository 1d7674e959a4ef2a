"""Files and tables: encodings, formats, what columns hold, and where a task's files are.

The public names are those that a task reads its rows with.
"""

from finetune.data.formats import spans
from finetune.data.formats.delimited import CSV, TSV, read_strictly
from finetune.data.issues import Finding, Issue
from finetune.data.messages import percent, shown
from finetune.data.open_files import numbered_lines
from finetune.data.rows import ADDED_LATER, Rows
from finetune.data.source import Source, hub_rows
from finetune.data.table import Table, cell_at
from finetune.data.values import as_text, is_missing

__all__ = [
    "ADDED_LATER",
    "CSV",
    "TSV",
    "Finding",
    "Issue",
    "Rows",
    "Source",
    "Table",
    "as_text",
    "cell_at",
    "hub_rows",
    "is_missing",
    "numbered_lines",
    "percent",
    "read_strictly",
    "shown",
    "spans",
]
