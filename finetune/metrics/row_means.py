"""The mean score of some rows: its 95 % interval, and whether it differs from that of other rows.

scipy.special is imported in less time than scipy.stats, which the tests compare with.
"""

import math

import numpy as np

from finetune.metrics.significance import NO_SPREAD, Z


def mean_interval(scores: np.ndarray, *, bounded: bool) -> tuple[float, float] | None:
    """The 95 % interval of the mean of scores `(rows,)` from 0, and up to 1 if `bounded`; None where it is unknown.

    Wilson's (1927) where all scores are 0 or 1, which has a width also where all are 1; else Student's t, which has
    none without spread.
    """
    if _right_or_wrong(scores, bounded=bounded):
        return wilson(int(scores.sum()), of=len(scores))
    if len(scores) < 2 or scores.std() < NO_SPREAD:
        return None
    from scipy.special import stdtrit

    mean, error = float(scores.mean()), float(scores.std(ddof=1)) / math.sqrt(len(scores))
    half = float(stdtrit(len(scores) - 1, 0.975)) * error
    return max(0.0, mean - half), min(1.0, mean + half) if bounded else mean + half


def difference_p(a: np.ndarray, b: np.ndarray, *, bounded: bool) -> float:
    """The two-sided p value of equal means of two groups of rows: Fisher's exact test where all scores are 0 or 1,
    else Welch's t-test; 1 without spread.
    """
    if _right_or_wrong(np.concatenate([a, b]), bounded=bounded):
        return fisher(int(a.sum()), len(a), int(b.sum()), len(b))
    if min(len(a), len(b)) < 2 or max(a.std(), b.std()) < NO_SPREAD:
        return 1.0
    from scipy.special import stdtr

    parts = [float(each.var(ddof=1)) / len(each) for each in (a, b)]
    freedom = sum(parts) ** 2 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, (a, b), strict=True))
    return float(2 * stdtr(freedom, -abs(a.mean() - b.mean()) / math.sqrt(sum(parts))))


def wilson(right: int, *, of: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share; `of` is at least 1."""
    share, z2 = right / of, Z**2
    middle = share + z2 / (2 * of)
    half = Z * math.sqrt(share * (1 - share) / of + z2 / (4 * of**2))
    return max(0.0, (middle - half) / (1 + z2 / of)), min(1.0, (middle + half) / (1 + z2 / of))


def fisher(right: int, of: int, others_right: int, others_of: int) -> float:
    """The two-sided p value of Fisher's exact test: of all tables with these sums, those that are no more probable."""
    from scipy.special import gammaln

    def log_ways(of: int, some: np.ndarray) -> np.ndarray:
        found: np.ndarray = gammaln(of + 1) - gammaln(some + 1) - gammaln(of - some + 1)
        return found

    every = right + others_right
    possible = np.arange(max(0, every - others_of), min(every, of) + 1)
    logs = log_ways(of, possible) + log_ways(others_of, every - possible)
    chances = np.exp(logs - logs.max())
    found = chances[right - possible[0]]
    return float(min(1.0, chances[chances <= found * (1 + 1e-7)].sum() / chances.sum()))


def _right_or_wrong(scores: np.ndarray, *, bounded: bool) -> bool:
    return bounded and bool(np.isin(scores, (0, 1)).all())
