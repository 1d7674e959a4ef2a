"""Charts of a run and of several seeds. What differs in colour differs in marker, line or hatch too."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from finetune.analysis.report.seeds import Spread
from finetune.analysis.report.svg import INK, NAME, ONE, QUIET, SERIES, SURFACE, TWO, axes_of, drawn, percent
from finetune.task_types.marked_text import cut

POINTS = 150  # of a curve
LEAST = 5  # points that an axis of scores spans
DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = "osD^vPX<>*"


def loss_chart(losses: Sequence[tuple[int, float]], epochs: Sequence[Mapping[str, Any]]) -> Markup:
    """Loss of the updates, in the mean over some of them where there are many; without them a point an epoch."""
    updates, values = thinned(losses) if losses else ([e["epoch"] for e in epochs], [e["loss"] for e in epochs])
    unit = "update" if losses else "epoch"

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=unit, y="training loss")
        axes.plot(updates, values, color=ONE, linewidth=1.6, marker="" if len(updates) > 40 else "o", markersize=4)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))

    return drawn(draw, says=f"Training loss by {unit}: first {values[0]:.3f}, last {values[-1]:.3f}")


def thinned(points: Sequence[tuple[int, float]], most: int = POINTS) -> tuple[list[float], list[float]]:
    """At most so many points, each the mean of as many neighbours as the others."""
    parts = np.array_split(np.asarray(points, float), min(most, len(points)))
    return [float(part[:, 0].mean()) for part in parts], [float(part[:, 1].mean()) for part in parts]


def score_chart(curves: Mapping[str, Sequence[float]], baselines: Mapping[str, float], *, metric: str) -> Markup:
    """A score by epoch, of one run or of several seeds, and the baselines' as lines across. All between 0 and 1."""

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

    said = "; ".join(f"{name} {_list(scores)}" for name, scores in curves.items())
    return drawn(draw, says=f"{metric} by epoch: {said}. Baselines: {_pairs(baselines)}", height=260)


def method_chart(scores: Mapping[str, float], *, metric: str) -> Markup:
    """Bars of a run, which is the first, and of what it is compared with, which are hatched."""
    names, values = list(scores), percent(list(scores.values()))

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=metric)
        places = np.arange(len(names))[::-1]
        bars = axes.barh(places, values, height=0.6, facecolor=SURFACE, edgecolor=QUIET, hatch="////")
        bars[0].set(facecolor=ONE, edgecolor=ONE, hatch="")
        axes.bar_label(bars, labels=[f"{value:.1f}" for value in values], padding=4, color=INK)
        axes.set_yticks(places, [cut(name, NAME) for name in names])
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.14)

    return drawn(draw, says=f"{metric}: {_pairs(scores)}", height=70 + 30 * len(names))


def spread_chart(spreads: Sequence[Spread]) -> Markup:
    """Each seed's score as a dot, their mean as a line, the best baseline as a cross."""

    def draw(figure: Figure) -> None:
        axes = axes_of(figure)
        places = np.arange(len(spreads))[::-1]
        for place, one in zip(places, spreads, strict=True):
            shifts = np.linspace(-0.15, 0.15, len(one.scores))
            axes.plot(percent(one.scores), place + shifts, "o", color=ONE, markersize=6, label="a seed")
            axes.plot([100 * one.summary.mean] * 2, [place - 0.3, place + 0.3], color=INK, linewidth=2, label="mean")
            if one.baseline is not None:
                axes.plot(100 * one.baseline, place, "X", color=TWO, markersize=9, label="best baseline")
        axes.set_yticks(places, [cut(f"{one.split} {one.metric}", NAME) for one in spreads])
        axes.set_ylim(-0.6, len(spreads) - 0.4)
        handles = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)

    said = "; ".join(f"{one.split} {one.metric} {_list(one.scores)}" for one in spreads)
    return drawn(draw, says=f"Scores by seed: {said}", height=80 + 34 * len(spreads))


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{100 * value:.1f}" for value in values)


def _pairs(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * value:.1f}" for name, value in values.items()) or "none"
