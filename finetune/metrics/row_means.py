"""The mean score of some rows with its 95 % interval.

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


def wilson(right: int, *, of: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share; `of` is at least 1."""
    share, z2 = right / of, Z**2
    middle = share + z2 / (2 * of)
    half = Z * math.sqrt(share * (1 - share) / of + z2 / (4 * of**2))
    return max(0.0, (middle - half) / (1 + z2 / of)), min(1.0, (middle + half) / (1 + z2 / of))


def _right_or_wrong(scores: np.ndarray, *, bounded: bool) -> bool:
    return bounded and bool(np.isin(scores, (0, 1)).all())
