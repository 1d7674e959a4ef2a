"""A row of a file as it was read: its cells by column, or why it could not be read."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from finetune.data.issues import BYTES, Finding

SURROGATE = re.compile("[\ud800-\udfff]")
AROUND = " \t\r\n\ufeff\0"  # stripped from a column's name


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
