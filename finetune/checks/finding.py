"""A finding: an issue in a file, with its rows."""

from dataclasses import dataclass

from finetune.data.issues import Severity

MOST_ROWS = 1_000  # row numbers that a finding keeps
MANY, MOSTLY = 0.05, 0.5  # shares of a file's rows


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An issue in a file: what it is (`what`) and how to fix it (`remedy`).

    `rows` and `lines` number the first of its `count` rows; both are empty for an issue of the whole file.
    """

    severity: Severity
    code: str
    what: str
    remedy: str
    file: str
    rows: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    count: int = 0
