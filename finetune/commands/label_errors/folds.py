"""Divides rows into parts, each of which is held out once (cross-validation)."""

import hashlib
from collections.abc import Sequence

from finetune.data.rows import OwnRow
from finetune.task_types.data_type import DataType


def in_folds(kind: DataType, rows: Sequence[OwnRow], count: int) -> list[list[int]]:
    """The indexes of the rows of each part: stratified by label, rows with one text together, whatever their order."""
    units: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        units.setdefault(kind.unit(row), []).append(index)
    strata = kind.row_strata(rows)
    ordered = sorted(units.items(), key=lambda unit: (str(strata[unit[1][0]]), _hash(unit[0])))
    found: list[list[int]] = [[] for _ in range(count)]
    for place, (_, members) in enumerate(ordered):
        found[place % count] += members
    return [sorted(part) for part in found]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
