"""Scores by the length of the text: bins of about as many rows each."""

from dataclasses import dataclass

import numpy as np

MOST = 6  # bins
FEWEST = 10  # rows that a bin should have


@dataclass(frozen=True, kw_only=True)
class LengthBin:
    """Rows with a length from `shortest` to `longest`; `margin` is half the 95 % interval of their mean score."""

    shortest: int
    longest: int
    count: int
    score: float
    margin: float


def length_bins(lengths: np.ndarray, scores: np.ndarray) -> list[LengthBin]:
    """Bins by quantiles of the length; rows of one length are in one bin."""
    lengths, scores = np.asarray(lengths), np.asarray(scores, float)
    if not len(lengths):
        return []
    wanted = max(1, min(MOST, len(lengths) // FEWEST))
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, wanted + 1)[1:-1], method="lower"))
    place = np.searchsorted(edges, lengths, side="left")
    return [_bin(lengths[place == index], scores[place == index]) for index in np.unique(place)]


def _bin(lengths: np.ndarray, scores: np.ndarray) -> LengthBin:
    spread = float(scores.std(ddof=1)) if len(scores) > 1 else 0.0
    return LengthBin(
        shortest=int(lengths.min()),
        longest=int(lengths.max()),
        count=len(lengths),
        score=float(scores.mean()),
        margin=1.96 * spread / len(scores) ** 0.5,
    )
