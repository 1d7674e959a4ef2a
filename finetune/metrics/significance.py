"""Significance: paired bootstrap over rows and seeds, McNemar's test, Wilson's interval.

scipy.special is imported in half the time that scipy.stats takes, with which the tests compare.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from finetune.metrics.metric import DIFFERENCES, Interval, Spacing

RESAMPLES = 10_000
NO_SPREAD = 1e-12  # a difference that rounding can cause
SKETCHED = 200  # resamples in a sketch; they tell a correlation to 0.07
SKETCH_STEPS = 32  # of a byte are a standard deviation
LEAST_ROWS = 6  # that can have a p below 5 % if all differ alike: 2 ** (1 - 6)
LEVELS = 220  # quantiles of a distribution, one of which is at 97.5 %
Z = 1.959964  # normal quantile for 95 % on two sides
ROWS_AT_ONCE = 500_000  # sampled rows in memory at once; they fit the caches
Z_BOTH = Z + 0.841621  # normal quantiles for a level of 5 % on two sides and a power of 80 %


class Resampled(Protocol):
    """A metric of fixed rows that can be scored on resamples of them; `metric.Counted` is one."""

    @property
    def score(self) -> float:
        """The score over all rows."""

    @property
    def size(self) -> int:
        """The number of rows."""

    def resampled(self, weights: np.ndarray) -> np.ndarray:
        """The score of each resample `(resamples,)`; `weights` `(resamples, rows)` count each row in it."""


@dataclass(frozen=True, kw_only=True)
class Rescored:
    """A metric that is not a function of sums over rows, such as rank correlation: recomputed for each resample."""

    metric: Callable[[Sequence[int]], float]
    size: int

    @property
    def score(self) -> float:
        """The score over all rows."""
        return self.metric(range(self.size))

    def resampled(self, weights: np.ndarray) -> np.ndarray:
        rows = np.arange(self.size)
        return np.array([self.metric(np.repeat(rows, weight.astype(int)).tolist()) for weight in weights])


@dataclass(frozen=True, kw_only=True)
class Difference:
    """B minus A on one metric, with its 95 % interval, p, and the number of rows that detect it.

    `interval` is None if all resamples are equal: that shows nothing of other rows. `rows_needed` is None without a
    difference, and if no number of rows suffices without more seeds.
    """

    a: float
    b: float
    interval: Interval | None
    p: float
    rows_needed: int | None = None

    @property
    def value(self) -> float:
        """B minus A."""
        return self.b - self.a


def paired_bootstrap(
    a: Sequence[Resampled],
    b: Sequence[Resampled],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    spacing: Spacing = DIFFERENCES,
) -> Difference:
    """Tests the difference of the means over seeds; every metric is over the same rows in the same order.

    All metrics are scored on the same resamples (Efron and Tibshirani 1993, chapter 16). If a side has several seeds,
    their variance net of row sampling variance is added, as noise from Student's t with Welch's degrees of freedom.
    With one seed a side, the difference compares these two models only. Few rows widen it (`_widened`). p is at least
    the p of a sign test on so many rows, and 1 if a score is NaN. Means, interval, p and rows needed are all of one
    `spacing`, so that they agree for skewed scores such as perplexities.
    """
    generator = np.random.default_rng(seed)
    parts = [
        [spacing.to(np.stack([metric.resampled(weights) for metric in side], axis=1)) for side in (a, b)]
        for weights in _weights(a[0].size, resamples, generator)
    ]
    drawn_scores = [*map(np.concatenate, zip(*parts, strict=True))]
    plain_scores = [[metric.score for metric in side] for side in (a, b)]
    means = [*map(spacing.mean, plain_scores)]
    scores = [np.array(spacing.values(side)) for side in plain_scores]
    by_rows = drawn_scores[1].mean(1) - drawn_scores[0].mean(1)
    by_seeds, freedom = chance_of_seeds([seed_variance(*side) for side in zip(scores, drawn_scores, strict=True)])
    step = float(scores[1].mean() - scores[0].mean())
    backwards = (step, by_rows.mean()) < (0, 0)  # the other order draws the same noise with the other sign
    noise = by_seeds * generator.standard_t(freedom, resamples) * (-1 if backwards else 1)
    drawn = _widened(by_rows, a[0].size) + noise
    least_p = 2.0 ** (1 - min(a[0].size, 1_000))  # of a sign test if all rows differ in one direction
    extreme = int((~(np.abs(drawn - by_rows.mean()) < abs(step) - NO_SPREAD)).sum())
    return Difference(
        a=means[0],
        b=means[1],
        interval=spacing.differences(_interval(drawn), *means),
        p=max((1 + extreme) / (1 + resamples), least_p),
        rows_needed=_minimal_rows(step, rows=a[0].size, by_rows=float(by_rows.var(ddof=1)), by_seeds=by_seeds),
    )


def score_interval(metric: Resampled, *, resamples: int = RESAMPLES) -> Interval | None:
    """The 95 % interval of one score over resamples of its rows, as `paired_bootstrap`'s; None where all are equal."""
    generator = np.random.default_rng(0)
    scores = np.concatenate([metric.resampled(weights) for weights in _weights(metric.size, resamples, generator)])
    return _interval(_widened(scores[np.isfinite(scores)], metric.size))


def sketch(metric: Resampled, other: Resampled | None = None, *, spacing: Spacing = DIFFERENCES) -> str:
    """The scores of 200 resamples, less the scores of `other`, as deviations: a byte each, in hexadecimal.

    Metrics of equally many rows are scored on the same resamples, so sketches of two runs show how far they share the
    chance of rows, without their predictions. Empty if a score is undefined or all are equal.
    """
    weights = np.concatenate([*_weights(metric.size, SKETCHED, np.random.default_rng(0))])
    drawn = spacing.to(metric.resampled(weights))
    drawn = drawn if other is None else drawn - spacing.to(other.resampled(weights))
    if not np.isfinite(drawn).all() or drawn.std() < NO_SPREAD:
        return ""
    steps = np.round((drawn - drawn.mean()) / drawn.std() * SKETCH_STEPS)
    return str(np.clip(steps, -127, 127).astype(np.int8).tobytes().hex())


def half_over_seeds(scores: Sequence[float], by_rows: Sequence[float], sketches: Sequence[str]) -> float:
    """Half the 95 % interval of the mean of `scores` `(seeds,)`, which have standard errors `by_rows` and `sketches`.

    As in `paired_bootstrap`: the row sampling variance of the mean, and the seeds' variance net of variance by rows, as
    noise from Student's t. Without a sketch, rows are assumed to change all seeds alike, which is wider.
    """
    normal, student = quantiles(len(scores) - 1)
    errors = np.asarray(by_rows)
    drawn = _sketched_chance(sketches, errors)
    if drawn is None:
        drawn = _standardised(np.stack([normal] * len(scores), axis=1)) * errors
    rows, (variance, _) = float(drawn.mean(1).std()), seed_variance(np.asarray(scores), drawn)
    if not variance:
        return Z * rows
    return float(np.quantile(rows * normal[:, None] + math.sqrt(variance) * student, 0.975))


def _standardised(drawn: np.ndarray) -> np.ndarray:
    return np.asarray((drawn - drawn.mean(0)) / drawn.std(0))


def _sketched_chance(sketches: Sequence[str], errors: np.ndarray) -> np.ndarray | None:
    """The effect of resampled rows on scores with these `errors`, `(resamples, seeds)`; None without a sketch."""
    columns = [np.frombuffer(bytes.fromhex(text), np.int8).astype(float) for text in sketches]
    if not all(len(column) and column.std() for column in columns):
        return None
    return np.asarray(_standardised(np.stack(columns, axis=1)) * errors)


@lru_cache
def quantiles(freedom: int) -> tuple[np.ndarray, np.ndarray]:
    """Evenly spread quantiles of the normal distribution and of Student's t, each `(LEVELS,)`."""
    from scipy.special import ndtri, stdtrit

    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    return ndtri(levels), stdtrit(freedom, levels)


def mcnemar(a: Sequence[bool] | np.ndarray, b: Sequence[bool] | np.ndarray) -> float:
    """The p value of McNemar's exact test (1947) on the rows that only one model has right; 1 without such rows."""
    right_a, right_b = np.asarray(a), np.asarray(b)
    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    return min(1.0, 2 * _at_most(min(only_a, only_b), of=only_a + only_b))


def holm(values: Sequence[float]) -> list[float]:
    """The p values of several tests, adjusted for multiple comparisons (Holm 1979)."""
    adjusted, highest = list(values), 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = highest
    return adjusted


def _widened(drawn: np.ndarray, rows: int) -> np.ndarray:
    """Resampled values `(resamples,)`, further from their mean, since percentile intervals of few rows are too narrow.

    The factor is an interval of Student's t over a normal interval whose variance is divided by the rows and not by one
    less (Hesterberg 2015): 6 % at 30 rows.
    """
    if rows < 2 or not len(drawn):
        return drawn
    from scipy.special import stdtrit

    middle = drawn.mean()
    return np.asarray(middle + (drawn - middle) * math.sqrt(rows / (rows - 1)) * stdtrit(rows - 1, 0.975) / Z)


def _interval(drawn: np.ndarray) -> Interval | None:
    """The middle 95 % of scores `(resamples,)`; None without scores or spread."""
    if not len(drawn):
        return None
    low, high = np.quantile(drawn, [0.025, 0.975])
    return (float(low), float(high)) if high - low > NO_SPREAD else None


def _at_most(heads: int, *, of: int) -> float:
    """The probability of at most so many heads in `of` tosses of a fair coin, from exact binomial coefficients.

    Equals scipy.stats.binomtest, which takes a second to import.
    """
    total = ways = 1
    for tossed in range(heads):
        ways = ways * (of - tossed) // (tossed + 1)
        total += ways
    return total / (1 << of)


def _weights(rows: int, resamples: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Yields counts of each row in each resample, `(some resamples, rows)`."""
    step = max(1, ROWS_AT_ONCE // rows)
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        drawn = generator.integers(0, rows, (count, rows)) + rows * np.arange(count)[:, None]
        yield np.bincount(drawn.ravel(), minlength=count * rows).reshape(count, rows).astype(float)


def seed_variance(scores: np.ndarray, drawn: np.ndarray) -> tuple[float, int]:
    """(variance of the mean over seeds, net of row sampling variance; number of seeds).

    `scores` are `(seeds,)`, `drawn` are the scores of resamples `(resamples, seeds)`.
    """
    count = len(scores)
    if count == 1:
        return 0.0, count
    apart = drawn - drawn.mean(1, keepdims=True)
    by_rows = float(apart.var(0, ddof=1).mean()) * count / (count - 1)  # the variance that row sampling explains
    return max(0.0, float(scores.var(ddof=1)) - by_rows) / count, count


def chance_of_seeds(spreads: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """(standard error of the difference, Welch's degrees of freedom, unused where the variance is zero)."""
    total = sum(variance for variance, _ in spreads)
    if not total:
        return 0.0, 1.0
    return math.sqrt(total), total**2 / sum(variance**2 / (count - 1) for variance, count in spreads if variance)


def _minimal_rows(difference: float, *, rows: int, by_rows: float, by_seeds: float) -> int | None:
    """Rows that detect the difference; a sign test needs LEAST_ROWS. They reduce row sampling variance alone."""
    variance = (difference / Z_BOTH) ** 2 - by_seeds**2  # that row sampling may have
    return max(LEAST_ROWS, math.ceil(rows * by_rows / variance)) if difference and variance > 0 else None


def wilson(right: int, *, of: int) -> Interval:
    """Wilson's 95 % score interval of a share; `of` is at least 1."""
    share, z2 = right / of, Z**2
    middle = share + z2 / (2 * of)
    half = Z * math.sqrt(share * (1 - share) / of + z2 / (4 * of**2))
    return max(0.0, (middle - half) / (1 + z2 / of)), min(1.0, (middle + half) / (1 + z2 / of))
