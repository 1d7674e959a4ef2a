"""What is found in data before anything is trained on it."""

from dataclasses import dataclass

from finetune.data.issues import Severity

MOST_ROWS = 1_000  # of which a finding keeps the numbers
MANY, MOSTLY = 0.05, 0.5  # shares of a file's rows


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An issue in a file, what exactly it is there, and what to do about it.

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
