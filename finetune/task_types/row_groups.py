"""Rows that belong together, such as those of a query: groups by what they share."""

from collections.abc import Hashable, Iterable

RowUnit = list[int]  # indexes of rows that stay together


def grouped(keys: Iterable[Hashable]) -> list[RowUnit]:
    """The indexes of the rows with each key, the keys in the order in which they come first."""
    found: dict[Hashable, RowUnit] = {}
    for index, key in enumerate(keys):
        found.setdefault(key, []).append(index)
    return list(found.values())
