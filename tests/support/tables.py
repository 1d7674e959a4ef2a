"""Tables to guess the columns of."""

import json
from pathlib import Path
from typing import Any

from finetune.data.reading import read_table
from finetune.data.table import Table

LONG = "a text with quite a few words in it, number"


def table_of(tmp_path: Path, rows: list[dict[str, Any]]) -> Table:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return read_table(path)


def rows_with(count: int = 40, **columns: Any) -> list[dict[str, Any]]:
    """Rows in which each column is made by a function of the row's number, or is the same everywhere."""
    return [{name: make(i) if callable(make) else make for name, make in columns.items()} for i in range(count)]


def text(i: int) -> str:
    return f"{LONG} {i}"
