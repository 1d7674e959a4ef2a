"""A metric: its name, function, sums over rows, and display."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from finetune.metrics.sums import Counted

Score = Callable[[Sequence[Any], Sequence[Any]], float]
Sums = Callable[[Sequence[Any], Sequence[Any]], Counted]


@dataclass(frozen=True)
class Metric:
    """A score of predictions, 1 where all are right; `name` is its key in records (`label/name` is shown by label).

    `score(labels, predictions)` is its value; a task that computes all its metrics together needs none. `sums` gives
    the same as sums over rows, for resampling. It is shown times `scale`. `per_row`: each row is right or wrong.
    """

    name: str
    score: Score | None = field(default=None, compare=False)
    sums: Sums | None = field(default=None, compare=False)
    scale: float = 100
    greater_is_better: bool = True
    per_row: bool = False

    def rank(self, score: float) -> float:
        """A number that is greater for a better score; a score that is not a number is the worst."""
        if math.isnan(score):
            return -math.inf
        return score if self.greater_is_better else -score

    def shown(self, score: float) -> str:
        """A score as tables show it."""
        return f"{self.scaled(score):.1f}"

    def scaled(self, score: float) -> float:
        """A score times the scale."""
        return self.scale * score


def find_metric(name: str, metrics: Iterable[Metric]) -> Metric:
    """The metric with a score's name, or for `group/name` the one called `name`; else one that is shown as a share."""
    known = {metric.name: metric for metric in metrics}
    return known.get(name) or known.get(name.rpartition("/")[2]) or Metric(name)
