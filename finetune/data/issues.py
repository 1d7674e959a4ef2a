"""The declarations of data issues: code, severity, remedy and meaning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Issue:
    """Something that may be wrong with data; `meaning` is one line for the documentation.

    An error makes a run fail or its scores wrong, a warning needs a look, a note is for information.
    `worst` is the severity in bad cases, for example where most rows have the issue.
    """

    code: str
    severity: Severity
    meaning: str
    remedy: str
    worst: Severity | None = None


class Finding(NamedTuple):
    """An issue that was found, in the rows with these indexes; `what` and `remedy` replace its own texts where given.

    Indexes beyond the table's rows count the records that could not be read. Of one row, `what` is why it cannot be
    read or used, in words that follow `row 5`.
    """

    issue: Issue
    what: str = ""
    indexes: Sequence[int] = ()
    remedy: str = ""
    worst: bool = False


def _unreadable(code: str, meaning: str, remedy: str) -> Issue:
    meaning, remedy = f"rows that cannot be read: {meaning}", f"{remedy}; such rows are left out, `fix` drops them"
    return Issue(code, "warning", meaning, remedy, worst="error")


CELLS = _unreadable(
    "cells", "more or fewer cells than columns", "Quote cells that contain the delimiter, or add the missing cells"
)
QUOTE = _unreadable("quote", "an unclosed quote", "Close the quote, or double quotes that belong to the text")
JSON = _unreadable(
    "json", "a line that is not a JSON object", "Write one JSON object with the columns' names in each line"
)
BYTES = _unreadable("bytes", "bytes of another encoding", "Save the file in one encoding, preferably UTF-8")
UNREADABLE = _unreadable("unreadable", "any other reason", "Correct them")
REJECTED = Issue(
    "rejected",
    "note",
    "rows that were rejected or skipped in the labelling tool",
    "Nothing to do if that is intended",
)
READING = (CELLS, QUOTE, JSON, BYTES, UNREADABLE, REJECTED)
