"""What is found in data before anything is trained on it."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
MOST_ROWS = 1_000  # of which a finding keeps the numbers


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something in a file that spoils training or scores, or that one should know, and what to do about it.

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
