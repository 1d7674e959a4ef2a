"""Samples the dev split where there is no dev file: stratified, with duplicate texts on one side."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from finetune.data.characters import same_text
from finetune.data.rows import OwnRow
from finetune.task_types.own_type import OwnType

DEV_SHARE = 0.1  # of the rows, held out as dev where there is no dev file
MOST_DEV_ROWS = 10_000


def drawn_for_dev(kind: OwnType, rows: Sequence[OwnRow], groups: Sequence[Any] | None = None) -> set[int]:
    """Whether each row is held out as dev: stratified by label, groups and duplicate texts on one side."""
    texts: Iterable[str] = map(kind.unit, rows)
    if groups is None and all(a == b for a, b in pairwise(map(kind.unit, rows))):  # one document or context
        texts = (same_text(row.input) for row in rows)
    return dev_rows(texts, kind.strata(rows), groups)


def dev_rows(
    texts: Iterable[str], strata: Sequence[Any], groups: Sequence[Any] | None = None, *, share: float = DEV_SHARE
) -> set[int]:
    """The indexes of the dev rows: `share` of each stratum, the same for the same rows in any order.

    Rows with one text, and rows of one group, stay on one side: they are a unit. A stratum whose share is under a row
    or a unit gives one, as long as dev has at most twice its share.
    """
    share = min(share, MOST_DEV_ROWS / max(1, len(strata)))
    rows, bounds = _units(texts, groups)
    sizes = np.diff(bounds)
    chosen: set[int] = set()
    spare: list[int] = []
    smallest_units: list[int] = []  # the smallest unit of each stratum that may be taken as a whole
    units = 0

    def by_size(unit: int) -> tuple[int, int]:
        return int(sizes[unit]), unit

    for members in _by_stratum(rows, bounds, strata):
        drawn = list(_drawn(members, sizes, share))
        smallest = int(members[sizes[members].argmin()])
        for unit in drawn:
            chosen.update(rows[bounds[unit] : bounds[unit + 1]].tolist())
        if groups is not None or len(members) > 1:
            smallest_units.append(smallest)
            units += len(members)
        spare += [smallest] if not drawn and len(members) > 1 else []
    room = max(2, round(2 * share * len(strata))) - len(chosen)
    for unit in sorted(spare, key=by_size):
        if sizes[unit] <= room:
            chosen.update(rows[bounds[unit] : bounds[unit + 1]].tolist())
            room -= sizes[unit]
    if chosen or units < 2:
        return chosen
    unit = min(smallest_units, key=by_size)
    return set(rows[bounds[unit] : bounds[unit + 1]].tolist())


def _units(texts: Iterable[str], groups: Sequence[Any] | None) -> tuple[np.ndarray, np.ndarray]:
    """Rows that must stay together, `rows[bounds[i] : bounds[i + 1]]` for unit i; in a pseudo-random order of units.

    32 bytes a row: a unit's key, which decides its place, is a hash of its text or of the least of its groups.
    """
    names, units = texts, None
    if groups is not None:
        units = _connected(list(texts), groups)
        least: dict[int, str] = {}
        for unit, group in zip(units.tolist(), groups, strict=True):
            least[unit] = min(f"{group}", least.get(unit, f"{group}"))
        names = (least[unit] for unit in units.tolist())
    keys = bytearray()
    for name in names:
        keys += hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    place = np.unique(np.frombuffer(keys, dtype="S32"), return_inverse=True)[1]
    unit_of = place if units is None else units
    rows = np.lexsort((unit_of, place))
    first = np.diff(unit_of[rows], prepend=-1) != 0
    return rows, np.append(np.flatnonzero(first), len(rows))


def _by_stratum(rows: np.ndarray, bounds: np.ndarray, strata: Sequence[Any]) -> Iterator[np.ndarray]:
    """The units of each stratum, which is that of most of their rows, in their order."""
    numbers: dict[str, int] = {}
    of_row = np.array([numbers.setdefault(str(stratum), len(numbers)) for stratum in strata], dtype=np.int64)
    names = list(numbers)
    if not names:
        return
    of_unit = of_row[rows[bounds[:-1]]]
    for unit in np.flatnonzero(np.diff(bounds) > 1):
        counts = Counter(of_row[rows[bounds[unit] : bounds[unit + 1]]].tolist())
        of_unit[unit] = max(counts, key=lambda number: (counts[number], names[number]))
    order = np.argsort(of_unit, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(of_unit[order])) + 1)


def _drawn(members: np.ndarray, sizes: np.ndarray, share: float) -> Iterator[int]:
    """The first units that together are `share` of all rows; units too large for that are skipped."""
    wanted, taken = round(share * int(sizes[members].sum())), 0
    for unit in members[:-1].tolist():
        if taken >= wanted:
            return
        if taken + sizes[unit] <= 1.5 * wanted + 1:
            taken += sizes[unit]
            yield unit


def _connected(texts: Sequence[str], groups: Sequence[Any]) -> np.ndarray:
    """For each row the first of those that it is connected with, by a common text or group `(rows,)`."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first: dict[tuple[int, Any], int] = {}
    values = [*((0, text) for text in texts), *((1, group) for group in groups)]
    rows, count = np.tile(np.arange(len(texts)), 2), len(texts)
    others = [first.setdefault(value, row) for value, row in zip(values, rows.tolist(), strict=True)]
    graph = coo_array((np.ones(len(rows)), (rows, others)), shape=(count, count))
    component = connected_components(graph, directed=False)[1]
    return np.asarray(np.unique(component, return_index=True)[1][component])
