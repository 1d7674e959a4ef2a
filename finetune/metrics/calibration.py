"""Calibration (Guo et al. 2017): reliability bins, expected error, temperature scaling.

A temperature divides the logits, here the logarithms of the probabilities, which differ from them by a constant per
row; predictions do not change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

BINS = 10
LOWEST, HIGHEST = 0.05, 20.0
TINY = 1e-30  # replaces probabilities that were rounded to 0 when saved
CUT_OFFS = (0.5, 0.7, 0.9, 0.95)


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
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return [
        Bin(
            low=index / bins,
            high=(index + 1) / bins,
            count=int(inside.sum()),
            confidence=float(confidence[inside].mean()),
            accuracy=float(right[inside].mean()),
        )
        for index in range(bins)
        if (inside := place == index).any()
    ]


def expected_error(bins: Sequence[Bin]) -> float:
    """ECE: mean absolute difference of confidence and accuracy, weighted by the size of each bin."""
    count = sum(each.count for each in bins)
    return sum(each.count * abs(each.accuracy - each.confidence) for each in bins) / count if count else 0.0


def cut_off_cells(confidence: np.ndarray, right: np.ndarray) -> list[list[str]]:
    """How many decisions have a confidence, their share and their accuracy in %, as cells of a line for each of
    CUT_OFFS: what a model decides if others are left to people. Both arrays are `(decisions,)`.
    """
    lines = []
    for least in CUT_OFFS:
        kept = np.asarray(confidence) >= least
        accuracy = f"{100 * np.mean(np.asarray(right)[kept]):.1f}" if kept.any() else ""
        lines.append([f"{100 * least:.0f} % or more", f"{kept.sum():,}", f"{100 * kept.mean():.1f}", accuracy])
    return lines


def fit_temperature(probabilities: Sequence[Sequence[float]], gold: Sequence[int]) -> float:
    """The temperature, between 0.05 and 20, with the least negative log-likelihood of the labels.

    Each row has the probabilities of its choices, whose number may vary, and the index of the right one (`gold`).
    """
    from scipy.optimize import minimize_scalar

    logits = centred(probabilities)
    right = logits[np.arange(len(logits)), np.asarray(gold)]

    def loss(sharpness: float) -> float:  # which is convex in 1 / temperature
        return float((np.log(np.exp(logits * sharpness).sum(axis=1)) - right * sharpness).mean())

    found = minimize_scalar(loss, bounds=(1 / HIGHEST, 1 / LOWEST), method="bounded", options={"xatol": 1e-5})
    return float(1 / found.x)


def with_temperature(probabilities: Sequence[float], temperature: float) -> list[float]:
    """The probabilities `(choices,)` of one row after dividing its logits by the temperature."""
    from scipy.special import softmax

    scaled = np.log(np.maximum(probabilities, TINY)) / temperature
    return softmax(scaled).tolist()  # type: ignore[no-any-return]


def highest_with_temperature(probabilities: Sequence[Sequence[float]], temperature: float) -> np.ndarray:
    """The highest probability of each row `(rows,)`, at the temperature."""
    confidence: np.ndarray = 1 / np.exp(centred(probabilities) / temperature).sum(axis=1)
    return confidence


def centred(probabilities: Sequence[Sequence[float]]) -> np.ndarray:
    """Log probabilities `(rows, most choices)`, 0 for each row's highest, minus infinity for absent choices."""
    counts = np.array([len(row) for row in probabilities])
    logits = np.full((len(counts), counts.max()), -np.inf)
    flat = np.fromiter(chain.from_iterable(probabilities), dtype=float, count=int(counts.sum()))
    logits[np.arange(logits.shape[1]) < counts[:, None]] = np.log(np.maximum(flat, TINY))
    return logits - logits.max(axis=1, keepdims=True)  # type: ignore[no-any-return]
