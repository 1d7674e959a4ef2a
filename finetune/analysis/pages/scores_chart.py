"""A chart of several models: the score of each with its interval, its seeds, and the best baseline."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart, names_axis
from finetune.analysis.pages.marks import Coordinates, Mark, dots, intervals
from finetune.metrics.metric import Metric
from finetune.metrics.spacing import Interval

LINE_HEIGHT = 24.0  # units of a model
SPREAD = 0.2  # of a line's height, over which its seeds are


@dataclass(frozen=True, kw_only=True)
class ScoredModel:
    """A line of the chart: a mean score with its interval, and the scores of its seeds."""

    name: str
    score: float
    interval: Interval | None
    seeds: Sequence[float]
    baseline: float | None = None


def scores_chart(models: Sequence[ScoredModel], metric: Metric, *, title: str) -> Markup:
    """The models from the top down, in their order; `title` names the score."""
    scaled = metric.scaled
    lines = list(enumerate(models))
    ends = [
        ((scaled(one.interval[0]), -float(at)), (scaled(one.interval[1]), -float(at)))
        for at, one in lines
        if one.interval is not None
    ]
    marks: list[Mark] = [intervals(ends, name="95 % interval")] if ends else []
    seeds = [point for at, one in lines if len(one.seeds) > 1 for point in _seeds(one, at, metric)]
    marks += [dots(seeds, faint=True, radius=2.2, name="a seed")] if seeds else []
    tips = [f"{one.name}: {metric.shown(one.score)}" for one in models]
    marks.append(dots([(scaled(one.score), -float(at)) for at, one in lines], name="mean" if seeds else "", tips=tips))
    bases = [(scaled(one.baseline), -float(at)) for at, one in lines if one.baseline is not None]
    marks += [dots(bases, colour="s2", shape="cross", radius=3.6, name="best baseline")] if bases else []
    said = "; ".join(f"{one.name} {metric.shown(one.score)}" for one in models)
    return chart(
        marks, x=Axis(label=title, margin=0.08), y=names_axis([one.name for one in models]),
        height=LINE_HEIGHT * len(models) + 6, says=f"{title} by model: {said}",
    )  # fmt: skip


def _seeds(one: ScoredModel, at: int, metric: Metric) -> list[Coordinates]:
    last = len(one.seeds) - 1
    return [(metric.scaled(score), -at + 2 * SPREAD * (number / last - 0.5)) for number, score in enumerate(one.seeds)]
