"""Agreement of annotators: Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's alpha-reliability")."""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

Level = Literal["nominal", "ordinal", "interval"]
SHARED = 2  # labels that a unit needs to be compared


def krippendorff_alpha(units: Sequence[Sequence[Hashable]], level: Level) -> float | None:
    """1 for perfect agreement, 0 for that of chance; `units` are the labels that each row was given, by anyone.

    Rows with a single label do not count. None where no row has two, or all labels are equal. Differences are squared
    distances: of `interval` those of the numbers, of `ordinal` those of their mid-ranks, of `nominal` 1.
    """
    shared = [unit for unit in units if len(unit) >= SHARED]
    sizes = np.array([len(unit) for unit in shared])
    values = [value for unit in shared for value in unit]
    if not values:
        return None
    rows = np.arange(len(shared)).repeat(sizes)
    if level == "nominal":
        codes = {value: place for place, value in enumerate(dict.fromkeys(values))}
        found = _of_classes(np.array([codes[value] for value in values]), rows, sizes)
    else:
        numbers = np.array(values, float)
        found = _of_numbers(_mid_ranks(numbers) if level == "ordinal" else numbers, rows, sizes)
    within, between = found
    if between == 0:
        return None
    return float(1 - (within / (sizes - 1)).sum() * (len(values) - 1) / between)


def _of_classes(codes: np.ndarray, rows: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, float]:
    """The ordered pairs that differ: in each row, and among all."""
    _, places, counts = np.unique(rows * (codes.max() + 1) + codes, return_index=True, return_counts=True)
    same = np.bincount(rows[places], weights=counts**2, minlength=len(sizes))
    return sizes**2 - same, float(len(codes) ** 2 - (np.bincount(codes) ** 2).sum())


def _of_numbers(numbers: np.ndarray, rows: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, float]:
    """The squared differences of ordered pairs: in each row, and among all."""
    numbers = numbers - numbers.mean()  # or large numbers cancel
    squares, sums = (np.bincount(rows, weights=numbers**power) for power in (2, 1))
    total = 2 * len(numbers) * float((numbers**2).sum()) - 2 * float(numbers.sum()) ** 2
    return 2 * sizes * squares - 2 * sums**2, total


def _mid_ranks(numbers: np.ndarray) -> np.ndarray:
    """The mean rank of each number among all: between two values lie those between them and half of their own."""
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    return middle[places]
