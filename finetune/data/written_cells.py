"""Formats cells for writing: as text, as JSON, and escaped so that no spreadsheet runs them."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, time
from typing import Any

from finetune.data.values import NUMBER, as_text

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe(cell: Any) -> str:
    """A cell as text that no spreadsheet runs: an apostrophe precedes one that begins like a formula (CSV injection).

    Numbers, and a single sign (as a label may be), are not escaped.
    """
    text = flat_cell(cell)
    return f"'{text}" if text.startswith(FORMULA) and len(text) > 1 and not NUMBER.fullmatch(text) else text


def flat_cell(cell: Any) -> str:
    """A cell as text: lists as JSON, numbers unchanged, dates as ISO 8601; NaN is empty."""
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, list | tuple | dict):
        return json.dumps(cell, ensure_ascii=False, default=flat_cell)
    if isinstance(cell, float):
        return "" if math.isnan(cell) else repr(cell)
    return as_text(cell)


def without_surrogates(text: str) -> str:
    """The text with lone surrogates, which no encoding has, escaped as `\\ud800`."""
    return text.encode("utf-8", "backslashreplace").decode()


def as_json(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """The row's cells; NaN is null, since JSON has no NaN."""
    cells = {name: row[name] for name in names if name in row}
    cells = {name: None if isinstance(cell, float) and math.isnan(cell) else cell for name, cell in cells.items()}
    return json.dumps(cells, ensure_ascii=False, default=flat_cell)
