"""Confidence: its calibration (Guo et al. 2017), and thresholds with a guarantee on the answers above them.

Of risk: the upper bound of Clopper and Pearson (1934) at thresholds in a fixed order, until the first that fails (Learn
then Test, Angelopoulos et al. 2021). Pure functions of dev rows: `confidence` and `right`, each `(rows,)`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

ERROR_RATE = 0.05  # share of dev draws in which a promised risk may be exceeded
ALL_RATE = 0.01  # the part of it that is spent on answering all rows, whatever their confidence
ERRORS_AT_FIRST = 5  # that the first threshold tried allows, so that one error by chance does not end the search
STEPS = 100  # thresholds tried
BINS = 10


@dataclass(frozen=True, kw_only=True)
class AnsweredShare:
    """Answer where the confidence is at least `threshold`: a share `coverage` of dev, of which `wrong` is wrong."""

    threshold: float
    coverage: float
    wrong: float


def risk_threshold(confidence: np.ndarray, right: np.ndarray, risk: float) -> AnsweredShare | None:
    """The lowest threshold whose share of wrong answers is at most `risk`, in 95 % of dev draws; None where none is.

    There are two starts, which share the 5 %. One is all rows, for a model that is good enough without a threshold. The
    other goes from few answers to all, at counts that depend on the number of rows alone, and ends at the first that
    fails: so the bounds need no correction for their number. They are exact if rows are independent, and if the share
    of wrong answers falls as the threshold rises.
    """
    order = np.argsort(-confidence, kind="stable")
    ranked, wrong, total = confidence[order], np.cumsum(~right[order]), len(order)
    all_rate = ALL_RATE if total >= 2 * least_answers(risk) else 0.0  # with few rows only few answers are tried
    if all_rate and upper_chance(int(wrong[-1]), total, risk) <= all_rate:
        return AnsweredShare(threshold=float(ranked[-1]), coverage=1.0, wrong=float(wrong[-1] / total))
    rate, best = ERROR_RATE - all_rate, None
    easy = least_answers(risk, wrong=ERRORS_AT_FIRST, rate=rate)
    first = max(least_answers(risk, rate=rate), min(easy, total // 2))
    for count in np.unique(np.linspace(first, total, STEPS).round().astype(int)) if first <= total else ():
        answers = int(np.searchsorted(-ranked, -ranked[count - 1], side="right"))  # with equal confidences
        if upper_chance(int(wrong[answers - 1]), answers, risk) > rate:
            break
        best = AnsweredShare(
            threshold=float(ranked[count - 1]), coverage=answers / total, wrong=float(wrong[answers - 1] / answers)
        )
    return best


def coverage_threshold(confidence: np.ndarray, right: np.ndarray, coverage: float) -> AnsweredShare:
    """The highest threshold that a new row reaches with a probability of `coverage`, on average over draws."""
    below = math.floor((len(confidence) + 1) * (1 - coverage) + 1e-9)
    threshold = float(np.sort(confidence)[below - 1]) if below else -math.inf
    answered = confidence >= threshold
    return AnsweredShare(threshold=threshold, coverage=float(answered.mean()), wrong=float((~right)[answered].mean()))


def lowest_risk(confidence: np.ndarray, right: np.ndarray) -> float | None:
    """The lowest risk, in whole percent and below a half, for which these rows have a threshold; None without one."""
    risks = (percent / 100 for percent in range(1, 50))
    return next((risk for risk in risks if risk_threshold(confidence, right, risk)), None)


@lru_cache(maxsize=256)
def least_answers(risk: float, *, wrong: int = 0, rate: float = ERROR_RATE) -> int:
    """The fewest answers whose share of wrong ones is bounded by `risk` if so many are wrong."""
    low, high = wrong, wrong + 1
    while upper_chance(wrong, high, risk) > rate:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if upper_chance(wrong, middle, risk) <= rate else (middle, high)
    return high


def upper_chance(wrong: int, count: int, risk: float) -> float:
    """The probability of so few wrong of `count` if a share `risk` is: the bound of Clopper and Pearson, inverted."""
    from scipy.special import bdtr

    return float(bdtr(wrong, count, risk))


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
