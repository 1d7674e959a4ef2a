"""A metric: its name, function, sums over rows, and display; and the spacing on which its scores are averaged."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

Scores = dict[str, dict[str, float]]  # split (or method) -> metric -> score
Interval = tuple[float, float]
LEAST_SCORE = 1e-300  # a score of which a logarithm can be taken
MOST_SCORE = 1e15  # what records hold
HIGHEST = 350.0  # exp of it is finite, times any score


@dataclass(frozen=True)
class Spacing:
    """A scale on which equal steps between scores mean the same: the scores, or with `ratios` their logarithms."""

    ratios: bool

    def to(self, scores: "np.ndarray") -> "np.ndarray":
        """Where scores are on the scale."""
        import numpy as np

        return np.asarray(np.log(np.maximum(scores, LEAST_SCORE))) if self.ratios else scores

    def values(self, scores: Sequence[float]) -> list[float]:
        """Where scores are on the scale."""
        if not self.ratios:
            return [*map(float, scores)]
        import numpy as np

        return [*map(float, self.to(np.asarray(scores, float)))]

    def mean(self, scores: Sequence[float]) -> float:
        """The mean on the scale, as a score: arithmetic, or geometric; of a single score the same bits."""
        return self._score(math.fsum(self.values(scores)) / len(scores)) if len(scores) > 1 else float(scores[0])

    def interval(self, ends: Interval | None) -> Interval | None:
        """An interval of a score, from its ends on the scale."""
        return None if ends is None else (self._score(ends[0]), self._score(ends[1]))

    def difference(self, step: float, a: float, b: float) -> float:
        """The difference of two scores `step` apart on the scale, with the same middle as `a` and `b`.

        For ratios: scores with the ratio exp(step) and the geometric mean sqrt(a b). Swapping `a` and `b` mirrors it.
        """
        if not self.ratios:
            return step
        import numpy as np

        half = np.clip(step / 2, -HIGHEST, HIGHEST)
        return float(np.clip(2 * _middle(a, b) * np.sinh(half), -MOST_SCORE, MOST_SCORE))

    def step(self, difference: float, a: float, b: float) -> float:
        """How far scores with this difference are apart: undoes `difference`."""
        if not self.ratios:
            return difference
        import numpy as np

        return float(2 * np.arcsinh(difference / (2 * _middle(a, b))))

    def differences(self, ends: Interval | None, a: float, b: float) -> Interval | None:
        """An interval of the difference between `a` and `b`, from its ends on the scale."""
        return None if ends is None else (self.difference(ends[0], a, b), self.difference(ends[1], a, b))

    def _score(self, value: float) -> float:
        if not self.ratios:
            return float(value)
        import numpy as np

        return float(np.exp(np.asarray(value)))


def _middle(a: float, b: float) -> float:
    import numpy as np

    return max(float(np.sqrt(a) * np.sqrt(b)), LEAST_SCORE)


DIFFERENCES, RATIOS = Spacing(ratios=False), Spacing(ratios=True)


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A metric of some rows: `value` maps sums `(..., c)` of their `counts` `(rows, c)` to scores `(...)`."""

    counts: "np.ndarray"
    value: "Callable[[np.ndarray], np.ndarray]"

    @property
    def score(self) -> float:
        """The score over all rows."""
        return float(self.value(self.counts.sum(0)))

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.counts)

    def resampled(self, weights: "np.ndarray") -> "np.ndarray":
        """The score of each resample `(resamples,)`; `weights` `(resamples, rows)` count each row in it."""
        return self.value(weights @ self.counts)


Score = Callable[[Sequence[Any], Sequence[Any]], float]
Sums = Callable[[Sequence[Any], Sequence[Any]], Counted]
CORRELATIONS = ("matthews", "pearson", "spearman", "quadratic kappa")  # from -1 to 1
SIGNIFICANT = 3  # digits


@dataclass(frozen=True)
class Metric:
    """A score of predictions, 1 where all are right; `name` is its key in records (`label/name` is shown by label).

    `score(labels, predictions)` is its value, made of `sums` if it is not given; a task that computes all its metrics
    together needs neither. `sums(labels, predictions)` gives the value as sums over rows, for resampling. Scores are
    shown times `scale`, with so many `decimals`. `per_row`: each row is right or wrong. `magnitudes`: scores are
    positive and may differ by orders of magnitude; they are shown with SIGNIFICANT digits, and averaged and tested as
    logarithms.
    """

    name: str
    score: Score | None = field(default=None, compare=False)
    sums: Sums | None = field(default=None, compare=False)
    scale: float = 100
    greater_is_better: bool = True
    per_row: bool = False
    magnitudes: bool = False
    decimals: int = 1

    def __post_init__(self) -> None:
        if self.score is None and self.sums is not None:
            object.__setattr__(self, "score", partial(_of_sums, self.sums))

    def rank(self, score: float) -> float:
        """A number that is greater for a better score; a score that is not a number is the worst."""
        return -math.inf if math.isnan(score) else self.towards_better(score)

    def towards_better(self, difference: float) -> float:
        """A difference of scores, positive for the better."""
        return difference if self.greater_is_better else -difference

    def shown(self, score: float) -> str:
        """A score as tables show it."""
        return _significant(self.scaled(score)) if self.magnitudes else f"{self.scaled(score):z.{self.decimals}f}"

    def signed(self, difference: float) -> str:
        """A difference of scores as tables show it, with its sign."""
        shown = self.shown(difference)
        return shown if shown.startswith("-") else f"+{shown}"

    @property
    def heading(self) -> str:
        """The name, with `(lower is better)` if it is."""
        return self.name if self.greater_is_better else f"{self.name} (lower is better)"

    def ends(self, interval: Interval | None) -> str:
        """`81.2 to 84.0`; empty for None."""
        return " to ".join(map(self.shown, interval or ()))

    def signed_ends(self, interval: Interval | None) -> str:
        """`-0.4 to +2.1`, of a difference; empty for None."""
        return " to ".join(map(self.signed, interval or ()))

    def scaled(self, score: float) -> float:
        """A score times the scale."""
        return self.scale * score

    @property
    def spacing(self) -> Spacing:
        """The scale of means, tests and intervals of its scores."""
        return RATIOS if self.magnitudes else DIFFERENCES

    @property
    def range(self) -> Interval:
        """The least and the greatest score: 0 to 1, of a correlation -1 to 1, of `magnitudes` 0 to infinity; without
        limits for other scales and for errors.
        """
        if self.scale != 100 or not self.greater_is_better:
            return 0.0 if self.magnitudes else -math.inf, math.inf
        return (-1.0, 1.0) if self.name.rpartition("/")[2] in CORRELATIONS else (0.0, 1.0)

    def possible(self, interval: Interval | None, *, around: float) -> Interval | None:
        """The part of an interval around a score that is in the range: an interval of few seeds may reach beyond it."""
        return _clipped(interval, self.range, around)

    def possible_difference(self, interval: Interval | None, *, around: float) -> Interval | None:
        """The part of an interval around a difference of scores that two scores in the range can have."""
        width = self.range[1] - self.range[0]
        return _clipped(interval, (-width, width), around)


def find_metric(name: str, metrics: Iterable[Metric]) -> Metric:
    """The metric with a score's name, or for `group/name` the one called `name`; else one that is shown as a share."""
    by_name = {metric.name: metric for metric in metrics}
    return by_name.get(name) or by_name.get(name.rpartition("/")[2]) or Metric(name)


def plain_metrics(names: Iterable[str]) -> list[str]:
    """The names without a group; `PER/f1` has the group PER."""
    return [name for name in names if "/" not in name]


def _of_sums(sums: Sums, gold: Sequence[Any], answers: Sequence[Any]) -> float:
    return sums(gold, answers).score


def _significant(value: float) -> str:
    """`13,698`, `12.4`, `0.0073` or `3.40e7`."""
    if not value or not math.isfinite(value):
        return f"{value:z.1f}"
    if not 1e-4 <= abs(value) < 1e6:
        number, power = f"{value:.{SIGNIFICANT - 1}e}".split("e")
        return f"{number}e{int(power)}"
    decimals = max(0, SIGNIFICANT - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def _clipped(interval: Interval | None, limits: Interval, around: float) -> Interval | None:
    """An interval within limits; unchanged for a value outside them, which a user's metric may have."""
    low, high = limits
    if interval is None or not low <= around <= high:
        return interval
    return max(low, interval[0]), min(high, interval[1])
