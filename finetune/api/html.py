"""Tables as HTML for notebooks; every cell is escaped."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

NUMBERS = re.compile(r"[-+]?\d[\d.,:%±\s-]*(to [-+]?\d[\d.,%]*)?")  # `84.3`, `1,200`, `-1.0 to +2.5`, `8.1 %`


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "") -> str:
    """A table; cells of numbers are aligned right."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, cells))}</tr>" for cells in rows)
    caption = f"<caption style='text-align:left;caption-side:top'><b>{escape(title)}</b></caption>" * bool(title)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_list(lines: Iterable[str]) -> str:
    """A list of notes; empty where there are none."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" * bool(items)


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    side = "right" if NUMBERS.fullmatch(text) else "left"
    return f"<td style='text-align:{side}'>{escape(text)}</td>"
