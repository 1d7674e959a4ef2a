"""The headline score by epoch, of one run or of several seeds."""

from collections.abc import Mapping
from itertools import cycle

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.svg import NAME, QUIET, SERIES, axes_of, drawn, percent
from finetune.analysis.report.text import list_text, pairs_text
from finetune.runs.record import RunRecord
from finetune.task_types.marked_text import cut

LEAST = 5  # least span of a score axis, in points
DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = "osD^vPX<>*"


def score_by_epoch(records: Mapping[str, RunRecord]) -> Block:
    """A named curve per record, and the first record's baselines as horizontal lines."""
    first = next(iter(records.values()))
    split = next(iter(first.scores))
    curves = {name: [epoch["headline"] for epoch in record.epochs] for name, record in records.items()}
    given = {name: scores[first.headline] for name, scores in first.baselines.get(split, {}).items()}
    metric = f"{split} {first.headline}"
    return Block(title=f"{metric} by epoch", chart=_chart(curves, given, metric=metric))


def _chart(curves: Mapping[str, list[float]], baselines: Mapping[str, float], *, metric: str) -> Markup:
    """A line chart; all values are between 0 and 1."""

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x="epoch", y=metric)
        for (name, scores), marker, colour in zip(curves.items(), cycle(MARKERS), cycle(SERIES), strict=False):
            epochs = range(1, len(scores) + 1)
            axes.plot(epochs, percent(scores), color=colour, marker=marker, markersize=6, linewidth=1.6, label=name)
        for (name, score), dashes in zip(baselines.items(), cycle(DASHES), strict=False):
            axes.axhline(100 * score, color=QUIET, linestyle=dashes, linewidth=1.4, label=cut(name, NAME))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, (low + high - LEAST) / 2), max(high, (low + high + LEAST) / 2))
        figure.legend(loc="outside lower center", ncols=2)

    curves_text = "; ".join(f"{name} {list_text(scores)}" for name, scores in curves.items())
    return drawn(draw, says=f"{metric} by epoch: {curves_text}. Baselines: {pairs_text(baselines)}", height=260)
