"""What is found in data before anything is trained on it."""

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
