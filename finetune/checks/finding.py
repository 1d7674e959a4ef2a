"""A finding: an issue in a file, with its rows."""

from dataclasses import asdict, dataclass
from typing import Any

from finetune.data.issues import Severity

MOST_ROWS = 1_000  # row numbers that a finding keeps
MANY_OF_ROWS, MOST_OF_ROWS = 0.05, 0.5  # shares of a file's rows


@dataclass(frozen=True, kw_only=True)
class FileFinding:
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

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON values."""
        facts = asdict(self)
        return {"severity": facts.pop("severity"), "code": facts.pop("code"), "message": facts.pop("what"), **facts}
