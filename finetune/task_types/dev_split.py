"""Samples the dev split where there is no dev file: stratified, with duplicate texts on one side."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from finetune.data.characters import same_text
from finetune.data.rows import OwnRow
from finetune.task_types.data_type import DataType

SHARE = 0.1  # of the rows, held out as dev where there is no dev file
MOST = 10_000  # most rows of dev


def drawn_for_dev(kind: DataType, rows: Sequence[OwnRow], groups: Sequence[Any] | None = None) -> set[int]:
    """Whether each row is held out as dev: stratified by label, groups and duplicate texts on one side."""
    texts = [kind.unit(row) for row in rows]
    if groups is None and len(set(texts)) < 2:  # one document or context: split its sentences or questions
        texts = [same_text(row.input) for row in rows]
    return dev_rows(texts, kind.strata([row.gold for row in rows]), groups)


def dev_rows(
    texts: Sequence[str], strata: Sequence[Any], groups: Sequence[Any] | None = None, *, share: float = SHARE
) -> set[int]:
    """The indexes of the dev rows: `share` of each stratum, the same for the same rows in any order.

    Rows with one text, and rows of one group, stay on one side: they are a unit. Strata of which the share is less
    than a row or a unit give one, as long as dev has at most twice the share.
    """
    share = min(share, MOST / max(1, len(texts)))
    chosen: set[int] = set()
    spare: list[Unit] = []
    every: list[Unit] = []
    for members in _by_stratum(texts, strata, groups).values():
        drawn = _drawn(members, share)
        chosen.update(drawn)
        every += members if groups is not None or len(members) > 1 else []
        spare += [min(members, key=_by_size)] if not drawn and len(members) > 1 else []
    room = max(2, round(2 * share * len(texts))) - len(chosen)
    for unit in sorted(spare, key=_by_size):
        if len(unit[1]) <= room:
            chosen.update(unit[1])
            room -= len(unit[1])
    return chosen if chosen or len(every) < 2 else set(min(every, key=_by_size)[1])


Unit = tuple[str, list[int]]  # its sort key, and the indexes of its rows


def _by_size(unit: Unit) -> tuple[int, str]:
    return len(unit[1]), unit[0]


def _by_stratum(texts: Sequence[str], strata: Sequence[Any], groups: Sequence[Any] | None) -> Mapping[str, list[Unit]]:
    """The units of each stratum, which is that of most of their rows, in a pseudo-random order."""
    by_stratum: defaultdict[str, list[Unit]] = defaultdict(list)
    for rows in _units(texts, groups):
        key = min(texts[row] if groups is None else f"{groups[row]}" for row in rows)
        order = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        counts = Counter(str(strata[row]) for row in rows)
        by_stratum[max(counts, key=lambda name: (counts[name], name))].append((order, rows))
    return {name: sorted(units) for name, units in by_stratum.items()}


def _drawn(members: Sequence[Unit], share: float) -> list[int]:
    """The rows of the first units that together are `share` of all rows; units too large for that are skipped."""
    wanted = round(share * sum(len(rows) for _, rows in members))
    taken: list[int] = []
    for _, rows in members[: len(members) - 1]:
        if len(taken) < wanted and len(taken) + len(rows) <= 1.5 * wanted + 1:
            taken += rows
    return taken


def _units(texts: Sequence[str], groups: Sequence[Any] | None) -> list[list[int]]:
    """Rows that must stay together: connected by a common text or group."""
    parent = list(range(len(texts)))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    first: dict[tuple[int, Any], int] = {}
    keys: list[Mapping[int, Any] | Sequence[Any]] = [texts, *([groups] if groups is not None else [])]
    for kind, column in enumerate(keys):
        for row in range(len(texts)):
            other = first.setdefault((kind, column[row]), row)
            parent[root(row)] = root(other)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for row in range(len(texts)):
        members[root(row)].append(row)
    return list(members.values())
