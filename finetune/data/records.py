"""A row of a file: its cells by column, or why it could not be read; and what a file may ask for at most."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from finetune.data.issues import BYTES, Finding
from finetune.data.messages import shown, so_many
from finetune.errors import UserError

SURROGATE = re.compile("[\ud800-\udfff]")
AROUND = " \t\r\n\ufeff\0"  # stripped from a column's name
MOST_COLUMNS = 20_000
FEW_COLUMNS, SPARSE = 1_000, 0.01  # above so many columns, that share of the cells must be filled
MOST_FAULTS = 1_000_000  # rows that cannot be read
LONGEST_NAME = 1_000  # characters of a column's name
LONGEST_LINE = 1 << 26  # bytes
LONGEST_TEXT = 1 << 28  # bytes of a file that is read at once: predictions, names of labels
MOST_EXPANDED = 200  # times a compressed file's size; texts shrink to a tenth
ALWAYS_EXPANDED = 1 << 26  # bytes that any compressed file may expand to


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Row number `row` of a file, counted from 1 without the header, its first `line`, and its cells by column.

    `fault` says why it could not be read; then `values` is empty. `change` says what of it is left out.
    """

    row: int
    line: int
    values: dict[str, Any] = field(default_factory=dict)
    fault: Finding | None = None
    change: str = ""


def require_column(path: Path, name: str, *, number: int) -> None:
    """Raises UserError for one column more than a table has, and for a name that is too long."""
    if number > MOST_COLUMNS:
        raise UserError(
            f"{path}: has more than {MOST_COLUMNS:,} columns",
            "Give all rows the same names, and put what varies into one column",
        )
    if len(name) > LONGEST_NAME:
        raise UserError(
            f"{path}: the name of column {number:,} has {so_many(len(name), 'character')}: {shown(name)}",
            "Put a header with short names above the rows",
        )


def require_readable(path: Path, faults: Sequence[Record]) -> None:
    """Raises UserError where so many rows cannot be read that the file is of another kind."""
    if len(faults) > MOST_FAULTS:
        first = faults[0]
        why = first.fault.what if first.fault else ""
        raise UserError(
            f"{path}: more than {MOST_FAULTS:,} rows cannot be read; the first is in line {first.line:,}: {why}",
            "Is it a file of rows, in one of the supported formats?",
        )


def require_filled(path: Path, *, columns: int, rows: int, filled: int) -> None:
    """Raises UserError where so many columns have hardly a cell."""
    if columns > FEW_COLUMNS and filled < SPARSE * columns * rows:
        raise UserError(
            f"{path}: its first {rows:,} rows have {columns:,} different columns, nearly all of them empty",
            "Give all rows the same names; put what varies into one of them",
        )


def require_expanded(path: Path | str, size: int, *, packed: int) -> None:
    """Raises UserError where a compressed file of `packed` bytes expands to `size` bytes, as no text does."""
    if size > max(ALWAYS_EXPANDED, MOST_EXPANDED * packed):
        raise UserError(
            f"{path}: {packed:,} compressed bytes expand to {size:,} or more, over {MOST_EXPANDED} times as many",
            "Do not open it if it is a stranger's; else unpack it first",
        )


def whole(record: Record) -> Record:
    """The record, or one with a fault where a text has a lone surrogate or bytes that are invalid in its encoding."""
    fault = encoding_fault(record.values.items())
    return Record(row=record.row, line=record.line, fault=fault) if fault else record


def encoding_fault(cells: Iterable[tuple[str, Any]]) -> Finding | None:
    """The fault of the first of these (column, cell) with a lone surrogate; None where none has one."""
    for name, cell in cells:
        for text in cell if isinstance(cell, list) else [cell]:
            if isinstance(text, str) and not text.isascii() and SURROGATE.search(text):
                what = f"has bytes of another encoding, or a lone surrogate, in the column '{name}'"
                return Finding(BYTES, what)
    return None


def column_names(cells: Sequence[str]) -> list[str]:
    """Names in NFC without BOM and outer spaces, made unique: an empty one is `column N`, a second `text` `text 2`."""
    return list(_distinct_names(tuple(cells)))


@lru_cache(maxsize=64)  # JSON rows repeat the same names
def _distinct_names(cells: tuple[str, ...]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for number, cell in enumerate(cells, start=1):
        plain = unicodedata.normalize("NFC", SURROGATE.sub("?", str(cell)))
        name = plain.strip(AROUND) or f"column {number}"
        while name in names:
            name = f"{name} {number}"
        names[name] = None
    return tuple(names)
