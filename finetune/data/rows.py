"""Rows, the raw examples of a task, and where they were read from."""

import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

ADDED_LATER = {"added later": True}  # metadata of a row's field: left out of the data's fingerprint at its default
CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode
PLAIN = frozenset((str, int, float, bool, type(None)))
Row = Any  # a frozen dataclass with an `id`; its fields become columns of the predictions


@runtime_checkable
class OwnRow(Protocol):
    """A row of a user's data file: `gold` is None where the label is unknown."""

    @property
    def id(self) -> str:
        """The id in the data, or the row's number."""

    @property
    def gold(self) -> Any:
        """The label."""

    @property
    def input(self) -> str:
        """All that the model reads, as one text."""


def row_fields(row: Row) -> dict[str, Any]:
    """A row's fields by name, without later additions at their default, so that old run ids stay the same."""
    names, late = _names(row.__class__)
    values = {name: getattr(row, name) for name in names}
    if not all(map(is_plain, values.values())):
        values = asdict(row)
    return {name: value for name, value in values.items() if name not in late or value != late[name]}


def is_plain(value: Any) -> bool:
    """Whether `asdict` would return the value unchanged, for which it takes ten times as long."""
    return type(value) in PLAIN or (
        type(value) is tuple and all(type(item) in PLAIN or (type(item) is tuple and is_plain(item)) for item in value)
    )


@lru_cache(maxsize=64)
def _names(kind: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    late = {column.name: column.default for column in fields(kind) if column.metadata == ADDED_LATER}
    return tuple(column.name for column in fields(kind)), late


@runtime_checkable
class HashedRows(Protocol):
    """Rows that know a hash of their content, by which an id is made of them."""

    @property
    def fingerprint(self) -> str:
        """A hash of all rows."""

    def choose(self, which: Any) -> Sequence[Row]:
        """Some rows, by an array of their indexes."""


def chosen_rows(rows: Sequence[Row], indexes: Sequence[int]) -> Sequence[Row]:
    """Some rows, by their indexes in rising order; those with a hash have one too."""
    return rows.choose(np.asarray(indexes, int)) if isinstance(rows, HashedRows) else [rows[i] for i in indexes]


def grouped(keys: Iterable[Hashable]) -> list[list[int]]:
    """The indexes of the rows with each key, such as their query; the keys in the order in which they come first."""
    groups: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    return list(groups.values())


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of one split, where they came from, and notes from reading them.

    `drawn`: the split was sampled here, so a run saves the ids of its rows. `content` is a hash of a user's own file.
    `slices` has other columns with few values, such as a source, one value a row: a report scores rows by them.
    """

    rows: Sequence[Row]
    origin: str
    notes: tuple[str, ...] = ()
    drawn: bool = False
    content: str = ""
    slices: Mapping[str, Sequence[str]] = field(default_factory=dict)


def data_fingerprint(splits: Mapping[str, Sequence[Row]]) -> str:
    """A hash of all rows of all splits, independent of where they were read from."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        rows = splits[name]
        if isinstance(rows, HashedRows):
            digest.update(CANONICAL([name, rows.fingerprint]).encode())
            continue
        for row in rows:
            digest.update(CANONICAL([name, row_fields(row)]).encode())
    return digest.hexdigest()
