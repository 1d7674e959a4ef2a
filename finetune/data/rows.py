"""Rows, the raw examples of a task, and what is known of where they were read."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol, runtime_checkable

ADDED_LATER = {"added later": True}  # of a row's field: at its default it is left out of the data's fingerprint
Row = Any  # a frozen dataclass with an `id`; its fields become columns of the predictions


@runtime_checkable
class OwnRow(Protocol):
    """A row that a file of a user's own data gives: `gold` is None where it is not known."""

    @property
    def id(self) -> str:
        """As the data has it, or the row's number."""

    @property
    def gold(self) -> Any:
        """What the model is to answer."""

    @property
    def input(self) -> str:
        """All that the model reads, in one text."""


def row_fields(row: Row) -> dict[str, Any]:
    """A row's fields by name, but those that were added later and are at their default: old ids stay as they are."""
    late = {field.name: field.default for field in fields(row) if field.metadata == ADDED_LATER}
    return {name: value for name, value in asdict(row).items() if name not in late or value != late[name]}


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of one split, where they came from, and what a user should know of the reading.

    `drawn`: which rows are in it was decided here, so a run keeps their ids. `content` is a hash of a user's own file.
    """

    rows: Sequence[Row]
    origin: str
    notes: tuple[str, ...] = ()
    drawn: bool = False
    content: str = ""
