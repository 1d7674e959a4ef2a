"""The headline score by epoch, of one run or of several seeds."""

from collections.abc import Mapping
from itertools import cycle

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.svg import NAME, QUIET, SERIES, axes_of, drawn
from finetune.analysis.report.text import list_text, pairs_text
from finetune.metrics.metric import Metric
from finetune.runs.record import RunRecord
from finetune.task_types.marked_text import cut

LEAST = 0.05  # least span of a score axis, of the scale
DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = "osD^vPX<>*"


def score_by_epoch(records: Mapping[str, RunRecord]) -> Block:
    """A named curve per record, and the first record's baselines as horizontal lines."""
    first = next(iter(records.values()))
    split = next(iter(first.scores))
    curves = {name: [epoch["headline"] for epoch in record.epochs] for name, record in records.items()}
    given = {name: scores[first.headline] for name, scores in first.baselines.get(split, {}).items()}
    title = f"{split} {first.headline} by epoch"
    return Block(title=title, chart=_chart(curves, given, title, first.metric(first.headline)))


def _chart(curves: Mapping[str, list[float]], baselines: Mapping[str, float], title: str, metric: Metric) -> Markup:
    """A line chart of scores of a metric."""

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x="epoch", y=title.removesuffix(" by epoch"))
        for (name, scores), marker, colour in zip(curves.items(), cycle(MARKERS), cycle(SERIES), strict=False):
            epochs = range(1, len(scores) + 1)
            values = [*map(metric.scaled, scores)]
            axes.plot(epochs, values, color=colour, marker=marker, markersize=6, linewidth=1.6, label=name)
        for (name, score), dashes in zip(baselines.items(), cycle(DASHES), strict=False):
            axes.axhline(metric.scaled(score), color=QUIET, linestyle=dashes, linewidth=1.4, label=cut(name, NAME))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        low, high = axes.get_ylim()
        middle, half = (low + high) / 2, metric.scaled(LEAST) / 2
        axes.set_ylim(min(low, middle - half), max(high, middle + half))
        figure.legend(loc="outside lower center", ncols=2)

    curves_text = "; ".join(f"{name} {list_text(scores, metric)}" for name, scores in curves.items())
    return drawn(draw, says=f"{title}: {curves_text}. Baselines: {pairs_text(baselines, metric)}", height=260)
