"""ROC and precision-recall curves of one decision: by its probability, whether it should be made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart
from finetune.analysis.pages.marks import MARKERS, Mark, dots, line
from finetune.analysis.pages.svg import DASHES, SERIES
from finetune.task_types.marked_text import cut
from finetune.task_types.view import Curve

POINTS = 150  # of a drawn curve
MOST_CURVES = 5
MOST_LINES = 100  # of a table
LEGEND_NAME = 22  # characters of a label in the legend


@dataclass(frozen=True, kw_only=True)
class Thresholds:
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


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """What an axis shows of steps: a share, named in a sentence and at the axis."""

    name: str
    label: str
    of: Callable[[Thresholds], np.ndarray]


Drawable = tuple[Curve, Thresholds]


def steps_of(curve: Curve) -> Thresholds | None:
    """The steps of a curve; None where all rows are positive, or none."""
    positive = np.asarray(curve.positive, bool)
    if positive.all() or not positive.any():
        return None
    order = np.argsort(-np.asarray(curve.chances, float), kind="stable")
    chances, hits = np.asarray(curve.chances, float)[order], np.cumsum(positive[order])
    last = np.append(chances[1:] != chances[:-1], True)  # of rows with one probability
    found, alarms = hits[last], (np.arange(1, len(hits) + 1) - hits)[last]
    return Thresholds(
        recall=found / positive.sum(), false_alarms=alarms / (~positive).sum(), precision=found / (found + alarms)
    )


def chosen_step(curve: Curve) -> Thresholds:
    """What the predictions as they are give: one threshold."""
    positive, given = np.asarray(curve.positive, bool), np.asarray(curve.predicted, bool)
    right, alarms = int((positive & given).sum()), int((given & ~positive).sum())
    return Thresholds(
        recall=np.array([right / max(1, int(positive.sum()))]),
        false_alarms=np.array([alarms / max(1, int((~positive).sum()))]),
        precision=np.array([right / int(given.sum()) if given.any() else 1.0]),
    )


def some_points(xs: np.ndarray, ys: np.ndarray) -> list[tuple[float, float]]:
    """At most POINTS points of a curve in percent, both ends among them."""
    places = np.unique(np.linspace(0, len(xs) - 1, min(POINTS, len(xs))).round().astype(int))
    return [(100 * float(xs[at]), 100 * float(ys[at])) for at in places]


def drawable(curves: Sequence[Curve], most: int) -> list[Drawable]:
    """The curves with their steps, those of the most frequent labels, at most `most`."""
    found = [(curve, steps) for curve in curves if (steps := steps_of(curve)) is not None]
    kept = sorted(found, key=lambda pair: -int(np.sum(pair[0].positive)))[:most]
    return [pair for pair in found if any(pair is one for one in kept)]


def threshold_chart(
    drawn: Sequence[Drawable], *, x: Quantity, y: Quantity, says: str, under: Sequence[Mark] = ()
) -> Markup:
    """A curve by threshold for each of at most MOST_CURVES decisions, with a marker at the threshold in use."""
    marks = list(under)
    for number, (curve, steps) in enumerate(drawn):
        name, here = cut(curve.name, LEGEND_NAME), chosen_step(curve)
        marks.append(line(some_points(x.of(steps), y.of(steps)), colour=SERIES[number], dash=DASHES[number], name=name))
        across, up = (100 * float(each.of(here)[-1]) for each in (x, y))
        tip = f"{name} at its threshold: {y.name} {up:.1f} %, {x.name} {across:.1f} %"
        marks.append(dots([(across, up)], colour=SERIES[number], shape=MARKERS[number], tips=[tip], radius=5))
    across_axis, up_axis = (Axis(label=each.label, low=0.0, high=100.0) for each in (x, y))
    return chart(marks, x=across_axis, y=up_axis, height=230, says=says)
