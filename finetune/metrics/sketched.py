"""Whether two groups of runs differ, from what their records keep: scores, intervals and sketches, no predictions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from finetune.metrics.significance import SKETCHED, Difference, Z, chance_of_seeds, quantiles, seed_variance
from finetune.metrics.spacing import DIFFERENCES, Interval, Spacing

HALVINGS = 60  # of the search for an interval's end


@dataclass(frozen=True, kw_only=True)
class SketchedScores:
    """The scores of runs that differ only in seeds, each with its 95 % interval over rows and its `sketch`.

    An interval is None and a sketch empty where the record has none.
    """

    scores: Sequence[float]
    intervals: Sequence[Interval | None]
    sketches: Sequence[str]
    spacing: Spacing = DIFFERENCES

    @property
    def knows_rows(self) -> bool:
        """Whether the chance of rows is known of every run."""
        return all(ends is not None for ends in self.intervals)

    @cached_property
    def values(self) -> np.ndarray:
        """The scores `(seeds,)` on the scale of the spacing."""
        return np.array(self.spacing.values(self.scores))

    @cached_property
    def shared(self) -> np.ndarray | None:
        """What resamples that all runs share do to the scores `(resamples, seeds)`; None where a sketch is missing."""
        columns = [np.frombuffer(bytes.fromhex(one), np.int8).astype(float) for one in self.sketches]
        if not self.knows_rows or not all(len(column) == SKETCHED and column.std() for column in columns):
            return None
        drawn = np.stack(columns, axis=1)
        return np.asarray((drawn - drawn.mean(0)) / drawn.std(0) * self._errors)

    @cached_property
    def alone(self) -> np.ndarray:
        """The same without sketches: rows change all seeds alike, which is the widest; zeros where rows are unknown."""
        if not self.knows_rows:
            return np.zeros((2, len(self.scores)))
        normal, _ = quantiles(1)
        return np.asarray(((normal - normal.mean()) / normal.std())[:, None] * self._errors)

    @property
    def _errors(self) -> np.ndarray:
        """The standard error of each run's score over rows."""
        ends = [self.spacing.values(found) for found in self.intervals if found is not None]
        return np.array([(high - low) / 2 / Z for low, high in ends])


def sketched_difference(a: SketchedScores, b: SketchedScores) -> Difference | None:
    """B minus A on the same rows, as `paired_bootstrap` tests it with predictions; None where nothing can be told.

    Rows that both sides share are known by their sketches; without these they are taken as independent, which is wider.
    Where a record has no interval the chance is that of seeds alone, for these rows (Welch's t), of two runs or more.
    """
    if not np.isfinite([*a.values, *b.values]).all():
        return None
    by_rows = _by_rows(a, b)
    if not math.isfinite(by_rows):  # an end of an interval is not
        return None
    known = a.knows_rows and b.knows_rows
    if not known and min(len(a.scores), len(b.scores)) < 2:
        return None
    drawn = [(side.alone if side.shared is None else side.shared) if known else _none(side) for side in (a, b)]
    spreads = [seed_variance(side.values, each) for side, each in zip((a, b), drawn, strict=True)]
    by_seeds, freedom = chance_of_seeds(spreads)
    step, means = float(b.values.mean() - a.values.mean()), [a.spacing.mean(side.scores) for side in (a, b)]
    if not by_rows and not by_seeds:  # the same predictions, or equal scores of all seeds
        return None if step else Difference(a=means[0], b=means[1], interval=None, p=1.0)
    noise = _Noise(by_rows=by_rows, by_seeds=by_seeds, freedom=freedom)
    half = noise.half()
    return Difference(
        a=means[0], b=means[1], p=min(1.0, noise.beyond(abs(step))),
        interval=a.spacing.differences((step - half, step + half), means[0], means[1]),
    )  # fmt: skip


def _none(side: SketchedScores) -> np.ndarray:
    return np.zeros((2, len(side.scores)))


def _by_rows(a: SketchedScores, b: SketchedScores) -> float:
    """The standard deviation of the difference over resamples of the rows; 0 where it is unknown."""
    if not a.knows_rows or not b.knows_rows:
        return 0.0
    if a.shared is not None and b.shared is not None:
        return float((b.shared.mean(1) - a.shared.mean(1)).std())
    return math.hypot(float(a.alone.mean(1).std()), float(b.alone.mean(1).std()))


@dataclass(frozen=True, kw_only=True)
class _Noise:
    """A normal deviation from rows, and one of Student's t from seeds."""

    by_rows: float
    by_seeds: float
    freedom: float

    def beyond(self, step: float) -> float:
        """The probability of a deviation of at least `step`, to either side."""
        from scipy.special import ndtr, stdtr

        if not self.by_seeds:
            return float(2 * ndtr(-step / self.by_rows))
        normal, _ = quantiles(1)
        return float(2 * stdtr(self.freedom, (-step - self.by_rows * normal) / self.by_seeds).mean())

    def half(self) -> float:
        """Half the 95 % interval: the deviation with 5 % beyond it."""
        low, high = 0.0, Z * self.by_rows + self.by_seeds
        while self.beyond(high) > 0.05:
            low, high = high, 2 * high
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.beyond(middle) > 0.05 else (low, middle)
        return high
