"""Spacing: whether scores are averaged, tested and given intervals as they are, or as logarithms."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

Interval = tuple[float, float]
LEAST_SCORE = 1e-300  # a score of which a logarithm can be taken
MOST_SCORE = 1e15  # what records hold
HIGHEST = 350.0  # exp of it is finite, times any score


@dataclass(frozen=True)
class Spacing:
    """A scale on which equal steps between scores mean the same: the scores, or with `ratios` their logarithms."""

    ratios: bool

    def to(self, scores: np.ndarray) -> np.ndarray:
        """Where scores are on the scale."""
        return np.asarray(np.log(np.maximum(scores, LEAST_SCORE))) if self.ratios else scores

    def values(self, scores: Sequence[float]) -> list[float]:
        """Where scores are on the scale."""
        return [float(value) for value in self.to(np.asarray(scores, float))]

    def mean(self, scores: Sequence[float]) -> float:
        """The mean on the scale, as a score: arithmetic, or geometric; of a single score the same bits."""
        return self._score(fmean(self.values(scores))) if len(scores) > 1 else float(scores[0])

    def interval(self, ends: Interval | None) -> Interval | None:
        """An interval of a score, from its ends on the scale."""
        return None if ends is None else (self._score(ends[0]), self._score(ends[1]))

    def difference(self, step: float, a: float, b: float) -> float:
        """The difference of two scores `step` apart, with the same middle as `a` and `b`, so that those of `b` and `a`
        mirror each other; of ratios that of scores with ratio exp(step) and geometric mean sqrt(a b).
        """
        if not self.ratios:
            return step
        half = np.clip(step / 2, -HIGHEST, HIGHEST)
        return float(np.clip(2 * _middle(a, b) * np.sinh(half), -MOST_SCORE, MOST_SCORE))

    def step(self, difference: float, a: float, b: float) -> float:
        """How far scores with this difference are apart: undoes `difference`."""
        return float(2 * np.arcsinh(difference / (2 * _middle(a, b)))) if self.ratios else difference

    def differences(self, ends: Interval | None, a: float, b: float) -> Interval | None:
        """An interval of the difference between `a` and `b`, from its ends on the scale."""
        return None if ends is None else (self.difference(ends[0], a, b), self.difference(ends[1], a, b))

    def _score(self, value: float) -> float:
        return float(np.exp(np.asarray(value))) if self.ratios else float(value)


def _middle(a: float, b: float) -> float:
    return max(float(np.sqrt(a) * np.sqrt(b)), LEAST_SCORE)


DIFFERENCES, RATIOS = Spacing(ratios=False), Spacing(ratios=True)
