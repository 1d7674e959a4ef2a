"""A finding: an issue in a file, with its rows."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from finetune.data.issues import Issue, Severity

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

    @classmethod
    def of(cls, issue: Issue, what: str = "", *, file: str, remedy: str = "", worst: bool = False) -> Self:
        """A finding for a whole file; `what` and `remedy` replace the issue's own texts.

        Each is one line: a newline in a column's name is written as an escape.
        """
        return cls(
            severity=(worst and issue.worst) or issue.severity,
            code=issue.code,
            what=(what or issue.meaning).replace("\n", "\\u000a"),
            remedy=(remedy or issue.remedy).replace("\n", "\\u000a"),
            file=file,
        )

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON values."""
        facts = asdict(self)
        return {"severity": facts.pop("severity"), "code": facts.pop("code"), "message": facts.pop("what"), **facts}
