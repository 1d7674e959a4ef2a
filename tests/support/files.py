"""Writes files of any content, and shows the cells of a table that was read."""

import csv
import io
from pathlib import Path
from typing import Any

from finetune.data.table import Table


def write(path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def as_csv(rows: list[list[str]], delimiter: str = ",") -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(rows)
    return file.getvalue()


def cells(table: Table) -> list[list[Any]]:
    """The cells of each row."""
    return [list(row) for row in zip(*table.columns.values(), strict=True)]
