"""Converts cells to texts, numbers and lists, says whether they are missing, and formats them for writing."""

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from typing import Any

NULL = "\\N"  # as databases write a missing cell
NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|\.\d+)([eE][-+]?\d+)?")
INNER = re.compile(r"\s*(\{|\[.*[\[{(])", re.DOTALL)  # how a text begins that may be an object, or a nested list
LIST = re.compile(r"\s*(?:(?:\w+\.)?(?:array|tensor)\()?(\[.*\])(?:,\s*dtype=[\w.]+)?\)?\s*", re.DOTALL)
QUOTED = re.compile(r"""\s*((['"]).*?\2\s*)+""", re.DOTALL)
UNQUOTED = re.compile(r"\s*([-+]?\d+\.?|True|False)(\s+([-+]?\d+\.?|True|False))*\s*")
ARRAY = re.compile(r"\barray\((\[.*?\])(?:,\s*dtype=[^)]*)?\)", re.DOTALL)  # as numpy shows one in an object
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


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, or only spaces. An empty list is a value: no items."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str) and (not value.strip() or value == NULL)


def as_text(value: Any) -> str:
    """A cell as text: whole numbers without a decimal point, booleans in lower case."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else "" if value is None else str(value)


def as_number(value: Any, *, decimal: str = ".") -> float | None:
    """A cell as a finite number, else None. In texts `decimal` is the decimal sign; the other one of point and comma
    may separate thousands.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text, thousands = value.strip(), "," if decimal == "." else "."
        if re.fullmatch(rf"[-+]?\d{{1,3}}(\{thousands}\d{{3}})+(\{decimal}\d*)?", text):
            text = text.replace(thousands, "")
        text = text.replace(decimal, ".") if thousands not in text else ""
        if not NUMBER.fullmatch(text):
            return None
        value = text
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_list(cell: Any) -> list[Any] | None:
    """A cell as a list: a list, or a text that is one in JSON, in Python, or as numpy prints it; else None."""
    if isinstance(cell, list | tuple):
        return list(cell)
    if not isinstance(cell, str) or not (match := LIST.fullmatch(cell)):
        return None
    cell = match[1]
    parsed = parsed_literal(cell)
    # Python joins texts without a comma between them: `['a' 'b']` is one text to it.
    joined = "," not in cell and cell.count("'") + cell.count('"') > 2 and isinstance(parsed, list) and len(parsed) == 1
    if isinstance(parsed, list) and not (joined and isinstance(parsed[0], str)):
        return parsed
    inner = cell.strip()[1:-1]  # as numpy prints it
    if QUOTED.fullmatch(inner):
        return [item[1] for item in re.findall(r"""(['"])(.*?)\1""", inner, re.DOTALL)]
    if UNQUOTED.fullmatch(inner):
        return [item == "True" if item[:1] in "TF" else int(item.rstrip(".")) for item in inner.split()]
    return None


def is_nested(cell: Any) -> bool:
    """Whether a cell is an object, or a list that holds lists or objects: no label is one."""
    if isinstance(cell, str) and INNER.match(cell):
        cell = as_list(cell) if cell.lstrip().startswith("[") else parsed_literal(cell)
    items = cell if isinstance(cell, list | tuple) else ()
    return isinstance(cell, dict) or any(isinstance(item, list | tuple | dict) for item in items)


def parsed_literal(text: str) -> Any:
    """Parses a text as JSON or as a Python literal, arrays of numpy as lists; None where it is neither."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text.strip())
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    plain = ARRAY.sub(r"\1", text)
    return parsed_literal(plain) if plain != text else None


def tags_of(cell: Any) -> list[str]:
    """The tags in one cell: a list, or a space-separated text."""
    listed = as_list(cell)
    return as_text(cell).split() if listed is None else [as_text(tag) for tag in listed]
