"""ROC and precision-recall curves of one decision: by its probability, whether it should be made."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finetune.task_types.view import Curve

POINTS = 120  # of a drawn curve


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What every threshold would give, from the highest: `(thresholds,)` each."""

    recall: np.ndarray
    false_alarms: np.ndarray
    precision: np.ndarray

    @property
    def roc_area(self) -> float:
        """The area under the ROC curve: the probability that a positive row is ranked over a negative one."""
        xs, ys = np.append(0.0, self.false_alarms), np.append(0.0, self.recall)
        return float(((xs[1:] - xs[:-1]) * (ys[1:] + ys[:-1]) / 2).sum())

    @property
    def average_precision(self) -> float:
        """The mean precision over all positive rows, without interpolation (scikit-learn's average precision)."""
        return float((np.diff(np.append(0.0, self.recall)) * self.precision).sum())


def steps_of(curve: Curve) -> Steps | None:
    """The steps of a curve; None where all rows are positive, or none."""
    positive = np.asarray(curve.positive, bool)
    if positive.all() or not positive.any():
        return None
    order = np.argsort(-np.asarray(curve.chances, float), kind="stable")
    chances, hits = np.asarray(curve.chances, float)[order], np.cumsum(positive[order])
    last = np.append(chances[1:] != chances[:-1], True)  # of rows with one probability
    found, alarms = hits[last], (np.arange(1, len(hits) + 1) - hits)[last]
    return Steps(
        recall=found / positive.sum(), false_alarms=alarms / (~positive).sum(), precision=found / (found + alarms)
    )


def chosen_point(curve: Curve) -> tuple[float, float, float]:
    """(recall, false alarms, precision) of the predictions as they are."""
    positive, given = np.asarray(curve.positive, bool), np.asarray(curve.predicted, bool)
    right = int((positive & given).sum())
    return (
        right / max(1, int(positive.sum())),
        int((given & ~positive).sum()) / max(1, int((~positive).sum())),
        right / int(given.sum()) if given.any() else 1.0,
    )


def some_points(xs: np.ndarray, ys: np.ndarray) -> list[tuple[float, float]]:
    """At most POINTS points of a curve in percent, both ends among them."""
    places = np.unique(np.linspace(0, len(xs) - 1, min(POINTS, len(xs))).round().astype(int))
    return [(100 * float(xs[at]), 100 * float(ys[at])) for at in places]


def drawable(curves: Sequence[Curve], most: int) -> list[tuple[Curve, Steps]]:
    """The curves with their steps, those of the most frequent labels, at most `most`."""
    found = [(curve, steps) for curve in curves if (steps := steps_of(curve)) is not None]
    kept = sorted(found, key=lambda pair: -int(np.sum(pair[0].positive)))[:most]
    return [pair for pair in found if any(pair is one for one in kept)]
