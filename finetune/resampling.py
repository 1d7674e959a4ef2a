"""Whether a difference between two models is more than chance: paired bootstrap over rows and seeds, and McNemar."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import binomtest, t

RESAMPLES = 10_000
AT_ONCE = 4_000_000  # drawn rows that are held at the same time
Z = 1.959964
Z_BOTH = Z + 0.841621  # normal quantiles for a level of 5 % on two sides and a power of 80 %


class Resampled(Protocol):
    """A metric of fixed rows that can be scored on resamples of them; `counting.Counted` is one."""

    @property
    def score(self) -> float:
        """Over all rows."""

    @property
    def size(self) -> int:
        """How many rows there are."""

    def resampled(self, weights: np.ndarray) -> np.ndarray:
        """Its value for each resample `(resamples,)`; `weights` `(resamples, rows)` say how often each row is in it."""


@dataclass(frozen=True, kw_only=True)
class Rescored:
    """A metric that is no sum over rows, as rank correlation: scored anew for each resample."""

    metric: Callable[[Sequence[int]], float]
    size: int

    @property
    def score(self) -> float:
        """Over all rows."""
        return self.metric(range(self.size))

    def resampled(self, weights: np.ndarray) -> np.ndarray:
        """As Resampled has it."""
        rows = np.arange(self.size)
        return np.array([self.metric(np.repeat(rows, weight.astype(int)).tolist()) for weight in weights])


@dataclass(frozen=True, kw_only=True)
class Difference:
    """B minus A on one metric: with its 95 % interval, p, and how many rows would tell it (None: no difference)."""

    a: float
    b: float
    interval: tuple[float, float]
    p: float
    rows_needed: int | None

    @property
    def value(self) -> float:
        """B minus A."""
        return self.b - self.a


def paired_bootstrap(
    a: Sequence[Resampled], b: Sequence[Resampled], *, resamples: int = RESAMPLES, seed: int = 0
) -> Difference:
    """Of the mean over seeds on either side; every metric is over the same rows in the same order.

    The same rows are drawn for all (Efron and Tibshirani 1993, chapter 16). Where a side has k > 1 seeds, the chance
    of the seeds is added: k - 1 of them are drawn with replacement, which keeps the variance of their mean unbiased
    (Rao and Wu 1988); of their spread what is chance in rows is taken away, since that counts already, and the rest
    is made wider as Student's t is for so few. A single seed stays, and the difference is one of these two models.
    """
    generator = np.random.default_rng(seed)
    parts = [
        [np.stack([each.resampled(weights) for each in side], axis=1) for side in (a, b)]
        for weights in _weights(a[0].size, resamples, generator)
    ]
    drawn = np.zeros(resamples)
    for side, scores, sign in zip((a, b), map(np.concatenate, zip(*parts, strict=True)), (-1, 1), strict=True):
        drawn += sign * (scores.mean(1) + _chance_of_seeds(side, scores, generator))
    means = [float(np.mean([each.score for each in side])) for side in (a, b)]
    difference, error = means[1] - means[0], float(drawn.std(ddof=1))
    extreme = int((np.abs(drawn - drawn.mean()) >= abs(difference) - 1e-12).sum())
    low, high = np.quantile(drawn, [0.025, 0.975])
    needed = a[0].size * (Z_BOTH * error / difference) ** 2 if difference else None
    return Difference(
        a=means[0],
        b=means[1],
        interval=(float(low), float(high)),
        p=(1 + extreme) / (1 + resamples),
        rows_needed=None if needed is None else math.ceil(needed),
    )


def mcnemar(a: Sequence[bool] | np.ndarray, b: Sequence[bool] | np.ndarray) -> float:
    """The exact p of rows that only one of two models has right being as unequal as this (McNemar 1947); 1 for none."""
    only_a = int((np.asarray(a) & ~np.asarray(b)).sum())
    only_b = int((~np.asarray(a) & np.asarray(b)).sum())
    return float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0


def _weights(rows: int, resamples: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """How often each row is in each resample, `(some resamples, rows)`."""
    step = max(1, AT_ONCE // rows)
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        drawn = generator.integers(0, rows, (count, rows)) + rows * np.arange(count)[:, None]
        yield np.bincount(drawn.ravel(), minlength=count * rows).reshape(count, rows).astype(float)


def _chance_of_seeds(side: Sequence[Resampled], scores: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """For each resample how far another draw of seeds is from their mean; `scores` `(resamples, seeds)` by rows."""
    count = len(side)
    whole = np.array([each.score for each in side])
    if count == 1 or not whole.std():
        return np.zeros(len(scores))
    apart = scores - scores.mean(1, keepdims=True)
    by_rows = float(apart.var(0, ddof=1).mean()) * count / (count - 1)  # what rows alone would make of the spread
    share = math.sqrt(max(0.0, 1 - by_rows / whole.var(ddof=1))) * float(t.ppf(0.975, 2 * count - 2)) / Z
    chosen = generator.integers(0, count, (len(scores), count - 1))
    chance: np.ndarray = share * (whole[chosen].mean(1) - whole.mean())
    return chance
