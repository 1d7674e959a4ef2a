"""Thresholds of confidence with a guarantee: how many predictions are answered, and how many of them are wrong.

Of risk: the upper bound of Clopper and Pearson (1934) at thresholds in a fixed order, until the first that fails (Learn
then Test, Angelopoulos et al. 2021). Pure functions of dev rows; `(claims,)` arrays unless noted.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

ERROR_RATE = 0.05  # share of dev draws in which a promised risk may be exceeded
ALL_RATE = 0.01  # the part of it that is spent on answering all rows, whatever their confidence
ERRORS_AT_FIRST = 5  # that the first threshold tried allows, so that one error by chance does not end the search
STEPS = 100  # thresholds tried


@dataclass(frozen=True, kw_only=True)
class AnsweredShare:
    """Answer where the confidence is at least `threshold`: a share `coverage` of dev, of which `wrong` is wrong."""

    threshold: float
    coverage: float
    wrong: float


def risk_threshold(
    confidence: np.ndarray, right: np.ndarray, risk: float, *, effect: float = 1.0
) -> AnsweredShare | None:
    """The lowest threshold whose share of wrong answers is at most `risk`, in 95 % of dev draws; None where none is.

    There are two starts, which share the 5 %. One is all answers, for a model that is good enough as it is. The other
    goes from few answers to all, by thresholds that depend on the number of claims alone, and the first that fails ends
    it: so the bounds need no correction for their number. Each is exact where claims are independent, and the share of
    wrong answers falls as the threshold rises. `effect` is that of `design_effect`.
    """
    ranked = _ranked(confidence, right)
    total = len(ranked.wrong)
    all_rate, rate = _rates(total, risk, effect)
    if all_rate and _chance(ranked.wrong[-1], total, risk, effect) <= all_rate:
        return ranked.answered(total)
    tried = _tried(ranked, risk, effect, rate)
    failed = np.flatnonzero(_chance(ranked.wrong[tried - 1], tried, risk, effect) > rate)
    kept = tried[: failed[0]] if len(failed) else tried
    return ranked.answered(int(kept[-1])) if len(kept) else None


def coverage_threshold(confidence: np.ndarray, right: np.ndarray, coverage: float) -> AnsweredShare:
    """The highest threshold that a new prediction reaches with a probability of `coverage`, on average over draws."""
    ranked = _ranked(confidence, right)
    below = math.floor((len(ranked.confidence) + 1) * (1 - coverage) + 1e-9)
    if not below:
        return AnsweredShare(threshold=-math.inf, coverage=1.0, wrong=ranked.wrong[-1] / len(ranked.wrong))
    return ranked.answered(int(np.searchsorted(-ranked.confidence, -ranked.confidence[-below], side="right")))


@lru_cache(maxsize=256)
def least_answers(risk: float, *, wrong: int = 0, rate: float = ERROR_RATE) -> int:
    """The fewest answers whose share of wrong ones is bounded by `risk` if so many are wrong."""
    count = wrong + 1
    while _chance(wrong, count, risk, 1.0) > rate:
        count = math.ceil(count * 1.01)
    while count > wrong + 1 and _chance(wrong, count - 1, risk, 1.0) <= rate:
        count -= 1
    return count


def design_effect(wrong: np.ndarray, rows: np.ndarray) -> float:
    """How many times the variance of a share of wrong claims is that of independent ones (Korn and Graubard 1998).

    `rows` says of which row each claim is: those of one row tend to be right or wrong together. Where all are right, or
    all wrong, nothing tells how much they do: each row counts once.
    """
    if not len(wrong):
        return 1.0
    share, (each, of) = wrong.mean(), np.unique(rows, return_inverse=True)
    if share in (0, 1):
        return len(wrong) / len(each)
    return max(1.0, float((np.bincount(of, weights=wrong - share) ** 2).sum() / (len(wrong) * share * (1 - share))))


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """Claims by falling confidence: `wrong` counts the wrong ones so far, `ends` are the counts at which the
    confidence changes.
    """

    confidence: np.ndarray
    wrong: np.ndarray
    ends: np.ndarray

    def answered(self, count: int) -> AnsweredShare:
        """What the threshold of so many answers gives."""
        threshold, total = float(self.confidence[count - 1]), len(self.wrong)
        return AnsweredShare(threshold=threshold, coverage=count / total, wrong=float(self.wrong[count - 1] / count))


def _ranked(confidence: np.ndarray, right: np.ndarray) -> Ranked:
    order = np.argsort(-np.asarray(confidence, float), kind="stable")
    ranked = np.asarray(confidence, float)[order]
    return Ranked(
        confidence=ranked,
        wrong=np.cumsum(~np.asarray(right, bool)[order]),
        ends=np.flatnonzero(np.append(ranked[1:] != ranked[:-1], [True] * bool(len(ranked)))) + 1,
    )


def _rates(total: int, risk: float, effect: float) -> tuple[float, float]:
    """The shares of draws that the two starts may fail in; from few answers only few are tried, at the whole share."""
    all_rate = ALL_RATE if total >= 2 * effect * least_answers(risk) else 0.0
    return all_rate, ERROR_RATE - all_rate


def _tried(ranked: Ranked, risk: float, effect: float, rate: float) -> np.ndarray:
    """The numbers of answers that are tried in order, each to the end of equal confidences."""
    total = len(ranked.wrong)
    first = _first(total, risk, effect, rate)
    if first > total:
        return np.array([], int)
    counts = np.linspace(first, total, STEPS).round().astype(int)
    return np.unique(ranked.ends[np.searchsorted(ranked.ends, counts)])


def _first(total: int, risk: float, effect: float, rate: float) -> int:
    """The first number of answers that is tried, of so many."""
    least, easy = (math.ceil(effect * least_answers(risk, wrong=wrong, rate=rate)) for wrong in (0, ERRORS_AT_FIRST))
    return max(least, min(easy, total // 2))


def _chance(wrong: Any, count: Any, risk: float, effect: float) -> Any:
    """The probability of so few wrong ones of `count` if a share `risk` is: Clopper and Pearson's bound, turned round.

    Counts, numbers or arrays, are divided by the design effect.
    """
    from scipy.special import betaincc

    return betaincc(wrong / effect + 1, np.maximum(count - wrong, 1e-9) / effect, risk)
