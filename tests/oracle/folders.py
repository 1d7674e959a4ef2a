"""Layouts as data: a folder each, below that of their class in `layouts/`.

It holds `files/` as the tool gets them, `layout.toml` (the fields of `Layout`, and in `path` what the tool is given),
and the rows that a careful person reads in `rows.jsonl`, a row a line. Other readings that are as good are in
`or-1.jsonl` and so on, rows of the file that a command in a message writes in `converted.jsonl`.
"""

import json
import shutil
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .layout import CLASSES, Asked, Chosen, Layout, Marked, Row, Tagged, Text, Written

KINDS = {"label": Text, "tags": Tagged, "spans": Marked, "answers": Asked, "right": Chosen}  # by a field of its own
FOLDER = Path(__file__).parent / "layouts"


def layouts() -> Iterator[Layout]:
    """The layouts of every class, by name of their folders."""
    for kind in CLASSES:
        for folder in sorted((FOLDER / kind).iterdir()):
            described = tomllib.loads((folder / "layout.toml").read_text(encoding="utf-8"))
            write = partial(_written, folder, described.pop("path"))
            yield Layout(**described, kind=kind, write=write)


def _written(source: Path, path: str, folder: Path) -> Written:
    """A copy of the files, and the rows."""
    shutil.copytree(source / "files", folder, dirs_exist_ok=True)
    others, converted = sorted(source.glob("or-*.jsonl")), source / "converted.jsonl"
    return Written(
        path=folder / path,
        rows=_rows(source / "rows.jsonl"),
        or_rows=[_rows(file) for file in others],
        converted=_rows(converted) if converted.exists() else (),
    )


def _rows(file: Path) -> list[Row]:
    # Not by splitlines(): a text may hold other line separators.
    return [_row(json.loads(line)) for line in file.read_text(encoding="utf-8").split("\n") if line]


def _row(fields: dict[str, Any]) -> Row:
    """A row of the kind that has these fields; a text without a pair leaves it out."""
    (kind,) = (KINDS[name] for name in fields if name in KINDS)
    optional = {"pair": None} if kind is Text else {}
    return kind(**optional | {name: _frozen(value) for name, value in fields.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
