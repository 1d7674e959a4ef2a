"""What may be wrong with data, each declared once: its code, severity and remedy, and what it means."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, kw_only=True)
class Issue:
    """Something that may be wrong with data; `meaning` is one line for the documents.

    An error makes a run fail or its scores wrong, a warning is for a person to look at, a note is good to know.
    `worst` is the severity where it is worse than usual, for example where most rows have it.
    """

    code: str
    severity: Severity
    meaning: str
    remedy: str
    worst: Severity | None = None


class Fault(NamedTuple):
    """Why a row cannot be read or used, in words that follow `row 5`, and the issue that it is a case of."""

    what: str
    issue: Issue


def _unreadable(code: str, meaning: str, remedy: str) -> Issue:
    return Issue(
        code=code,
        severity="warning",
        worst="error",
        meaning=f"rows that cannot be read: {meaning}",
        remedy=f"{remedy}; such rows are left out, `--fix` drops them",
    )


CELLS = _unreadable(
    "cells", "more or fewer cells than columns", "Quote cells that hold the delimiter, or add what is missing"
)
QUOTE = _unreadable("quote", "a quote that is not closed", "Close the quote, or double those that belong to the text")
JSON = _unreadable(
    "json", "a line that is not a JSON object", "Write one JSON object with the columns' names in each line"
)
BYTES = _unreadable("bytes", "bytes of another encoding", "Save the file in one encoding, UTF-8 best")
UNREADABLE = _unreadable("unreadable", "any other reason", "Correct them")
REJECTED = Issue(
    code="rejected",
    severity="note",
    meaning="rows that were rejected or skipped in the labelling tool",
    remedy="Nothing need be done if that is meant",
)
READING = (CELLS, QUOTE, JSON, BYTES, UNREADABLE, REJECTED)
