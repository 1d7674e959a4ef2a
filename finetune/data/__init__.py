"""Files and tables: encodings, formats, what columns hold, and where a task's files are.

The public names are those that a task reads its rows with.
"""

from finetune.data.formats.delimited import CSV, TSV, read_strictly
from finetune.data.open_files import numbered_lines
from finetune.data.rows import Rows
from finetune.data.source import Source, hub_rows

__all__ = ["CSV", "TSV", "Rows", "Source", "hub_rows", "numbered_lines", "read_strictly"]
