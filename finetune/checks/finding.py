"""What is found in data before anything is trained on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
MOST_ROWS = 1_000  # of which a finding keeps the numbers
MANY, MOSTLY = 0.05, 0.5  # shares of a file's rows


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something in a file, and what to do about it.

    An error makes a run fail or its scores wrong, a warning is for a person to look at, a note is good to know.
    `rows` and `lines` are those of the first of its `count` rows; there are none for what concerns the whole file.
    """

    severity: Severity
    code: str
    what: str
    remedy: str
    file: str
    rows: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    count: int = 0


def shown(text: str, most: int = 40) -> str:
    """A text for a message: what cannot be seen is escaped, what is long is cut."""
    plain = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[: most + 1])
    return f"'{plain}'" if len(text) <= most else f"'{plain[: most - 3]}...'"


def so_many(count: int, noun: str = "row") -> str:
    """`1 row`, `1,200 rows`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def places(found: Sequence[tuple[int, int]], *, most: int, count: int = 0) -> str:
    """`rows 3, 17, 40 and 9 more; lines 4, 18, 41`, of the first (row, line) of `count`, or of all there are."""
    count = count or len(found)
    shown = found[:most]
    more = f" and {count - most:,} more" if count > most else ""
    rows = f"row{'s' * (count > 1)} {', '.join(str(row) for row, _ in shown)}{more}"
    if all(row == line for row, line in shown):
        return rows
    return f"{rows}; line{'s' * (len(shown) > 1)} {', '.join(str(line) for _, line in shown)}"
