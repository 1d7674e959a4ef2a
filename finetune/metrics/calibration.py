"""Calibration (Guo et al. 2017): reliability bins and the expected error."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BINS = 10


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Decisions with a confidence in (`low`, `high`]: their number, mean confidence and accuracy."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability(confidence: np.ndarray, right: np.ndarray, bins: int = BINS) -> list[Bin]:
    """Equal-width bins of decisions; `confidence` and `right` are `(decisions,)`. Empty bins are left out."""
    confidence, right = np.asarray(confidence, float), np.asarray(right, float)
    numbers = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return [
        Bin(
            low=number / bins,
            high=(number + 1) / bins,
            count=int(inside.sum()),
            confidence=float(confidence[inside].mean()),
            accuracy=float(right[inside].mean()),
        )
        for number in range(bins)
        if (inside := numbers == number).any()
    ]


def expected_error(bins: Sequence[Bin]) -> float:
    """ECE: mean absolute difference of confidence and accuracy, weighted by the size of each bin."""
    errors = [(bin_.count, abs(bin_.accuracy - bin_.confidence)) for bin_ in bins]
    count = sum(size for size, _ in errors)
    return sum(size * error for size, error in errors) / count if count else 0.0
