"""Spacing: whether scores are averaged, tested and given intervals as they are, or as logarithms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

Interval = tuple[float, float]
LEAST_SCORE = 1e-300  # a score of which a logarithm can be taken
MOST_SCORE = 1e15  # what records hold
HIGHEST = 350.0  # exp of it is finite, times any score


@dataclass(frozen=True, kw_only=True)
class Spacing:
    """A scale on which equal steps between scores mean the same: `to` it and `back`, of numbers or arrays.

    `difference(step, a, b)` is that of two scores which are so far apart, with the same middle as `a` and `b`, so that
    those of `b` and `a` mirror each other; zero, and nothing else, is zero on both. `step(difference, a, b)` undoes it.
    """

    to: Callable[[np.ndarray], np.ndarray]
    back: Callable[[np.ndarray], np.ndarray]
    difference: Callable[[float, float, float], float]
    step: Callable[[float, float, float], float]

    def mean(self, scores: Sequence[float]) -> float:
        """The mean on the scale, as a score: arithmetic, or geometric; of a single score the same bits."""
        return self.score(fmean(self.values(scores))) if len(scores) > 1 else float(scores[0])

    def values(self, scores: Sequence[float]) -> list[float]:
        """Where scores are on the scale."""
        return [float(value) for value in self.to(np.asarray(scores, float))]

    def score(self, value: float) -> float:
        """The score at a place on the scale."""
        return float(self.back(np.asarray(value)))

    def interval(self, ends: Interval | None) -> Interval | None:
        """An interval of a score, from its ends on the scale."""
        return None if ends is None else (self.score(ends[0]), self.score(ends[1]))

    def differences(self, ends: Interval | None, a: float, b: float) -> Interval | None:
        """An interval of the difference between `a` and `b`, from its ends on the scale."""
        return None if ends is None else (self.difference(ends[0], a, b), self.difference(ends[1], a, b))


def _as_it_is(scores: np.ndarray) -> np.ndarray:
    return scores


def _same(number: float, _a: float, _b: float) -> float:
    return number


def _logarithm(scores: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(np.maximum(scores, LEAST_SCORE)))


def _apart(step: float, a: float, b: float) -> float:
    """The difference of two scores with ratio exp(step) and geometric mean sqrt(a b)."""
    half = np.clip(step / 2, -HIGHEST, HIGHEST)
    return float(np.clip(2 * _middle(a, b) * np.sinh(half), -MOST_SCORE, MOST_SCORE))


def _logarithm_of_ratio(difference: float, a: float, b: float) -> float:
    return float(2 * np.arcsinh(difference / (2 * _middle(a, b))))


def _middle(a: float, b: float) -> float:
    return max(float(np.sqrt(a) * np.sqrt(b)), LEAST_SCORE)


DIFFERENCES = Spacing(to=_as_it_is, back=_as_it_is, difference=_same, step=_same)
RATIOS = Spacing(to=_logarithm, back=np.exp, difference=_apart, step=_logarithm_of_ratio)
