"""Formats texts, counts and row numbers for messages."""

from collections.abc import Collection, Sequence
from typing import Any


def shown(text: str, most: int = 40) -> str:
    """A text in quotes for a message: invisible characters are escaped, long texts shortened."""
    plain = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[: most + 1])
    return f"'{plain}'" if len(text) <= most else f"'{plain[: most - 3]}...'"


def so_many(count: int, singular: str = "row") -> str:
    """`1 row`, `1,200 rows`."""
    return f"{count:,} {noun(count, singular)}"


def first_of(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more`: the first of some names, and how many others there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def size_words(size: int) -> str:
    """A number of bytes: `95 bytes`, `1.2 MB`."""
    return f"{size / 1e6:,.3g} MB" if size >= 1e5 else so_many(size, "byte")


def percent(share: float) -> str:
    """A share with two digits: `0.67 %`, `12 %`, `100 %`."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def noun(count: float, singular: str, several: str = "") -> str:
    """The form of a noun after a number: `row`, `rows`, `processes`, `entries`; of a verb with `several` given."""
    if count == 1 or several:
        return singular if count == 1 else several
    if singular.endswith("y") and singular[-2] not in "aeiou":
        return f"{singular[:-1]}ies"
    return f"{singular}{'es' if singular.endswith(('s', 'x', 'tch', 'sh')) else 's'}"


def lacking(wanted: Sequence[str], available: Collection[str]) -> str:
    """`has no column 'text'`, `has no columns 'question' and 'reply'`: the wanted names that are missing."""
    names = [f"'{name}'" for name in wanted if name not in available]
    return f"has no {noun(len(names), 'column')} {' and '.join(names)}"


def places(rows_and_lines: Sequence[tuple[int, int]], *, most: int, count: int = 0) -> str:
    """`rows 3, 17, 40 and 9 more; lines 4, 18, 41`, from the first (row, line) of `count`, or from all."""
    count = count or len(rows_and_lines)
    shown = rows_and_lines[:most]
    more = f" and {count - most:,} more" if count > most else ""
    rows = f"{noun(count, 'row')} {', '.join(str(row) for row, _ in shown)}{more}"
    if all(row == line for row, line in shown):
        return rows
    return f"{rows}; {noun(len(shown), 'line')} {', '.join(str(line) for _, line in shown)}"


def short(cell: Any) -> str:
    """A cell, shortened for a message."""
    text = repr(cell)
    return text if len(text) < 40 else text[:37] + "..."
