"""The charts of a report. What differs in colour differs in marker, line or hatch too."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from finetune.report.calibration import Bin
from finetune.report.lengths import LengthBin
from finetune.report.markup import cut
from finetune.report.seeds import Spread
from finetune.report.svg import INK, QUIET, SERIES, SURFACE, axes_of, drawn
from finetune.report.view import ClassScore

ONE, TWO, THREE = SERIES
POINTS = 150  # of a curve
DOTS = 600  # of a scatter plot
DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = "osD^vPX<>*"
LEAST = 5  # points that an axis of scores spans
NAME = 22  # characters of a name beside an axis


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
        for (name, scores), marker, colour in zip(curves.items(), _again(MARKERS), _again(SERIES), strict=False):
            epochs = range(1, len(scores) + 1)
            axes.plot(epochs, _percent(scores), color=colour, marker=marker, markersize=6, linewidth=1.6, label=name)
        for (name, score), dashes in zip(baselines.items(), _again(DASHES), strict=False):
            axes.axhline(100 * score, color=QUIET, linestyle=dashes, linewidth=1.4, label=cut(name, NAME))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, (low + high - LEAST) / 2), max(high, (low + high + LEAST) / 2))
        figure.legend(loc="outside lower center", ncols=2)

    said = "; ".join(f"{name} {_list(scores)}" for name, scores in curves.items())
    return drawn(draw, says=f"{metric} by epoch: {said}. Baselines: {_pairs(baselines)}", height=260)


def method_chart(scores: Mapping[str, float], *, metric: str) -> Markup:
    """Bars of a run, which is the first, and of what it is compared with, which are hatched."""
    names, values = list(scores), _percent(list(scores.values()))

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


def class_chart(classes: Sequence[ClassScore]) -> Markup:
    """Precision, recall and F1 of each class as three markers on a line."""

    def draw(figure: Figure) -> None:
        axes = axes_of(figure)
        places = np.arange(len(classes))[::-1]
        for place, one in zip(places, classes, strict=True):
            axes.plot(_percent([one.precision, one.recall]), [place, place], color=QUIET, linewidth=1)
        for part, marker, colour in (("precision", "<", TWO), ("recall", ">", THREE), ("f1", "o", ONE)):
            values = _percent([getattr(one, part) for one in classes])
            axes.plot(values, places, marker, color=colour, markersize=8, label=part, clip_on=False)
        axes.set_yticks(places, [cut(one.name, NAME) for one in classes])
        axes.set_xlim(0, 102)
        axes.set_ylim(-0.6, len(classes) - 0.4)
        figure.legend(loc="outside lower center", ncols=3)

    said = "; ".join(f"{one.name} {100 * one.f1:.1f}" for one in classes)
    return drawn(draw, says=f"F1 of each class: {said}", height=90 + 28 * len(classes))


def reliability_chart(bins: Sequence[Bin], after: Sequence[Bin]) -> Markup:
    """Accuracy over confidence with the diagonal, and below it how many decisions each bin has.

    `after` are the bins with a temperature, none where there is none.
    """

    def draw(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        upper.plot([0, 100], [0, 100], color=QUIET, linestyle="--", linewidth=1.2, label="as sure as right")
        upper.bar(*_bars(bins), facecolor=ONE, edgecolor=SURFACE, align="edge", label="found")
        if after:
            middle, heights = _percent([b.confidence for b in after]), _percent([b.accuracy for b in after])
            upper.plot(middle, heights, "D", color=TWO, markersize=6, markeredgecolor=SURFACE, label="with temperature")
        upper.set(ylabel="right, %", xlim=(0, 100), ylim=(0, 104))
        starts, _, widths = _bars(bins)
        lower.bar(starts, [b.count for b in bins], widths, facecolor=SURFACE, edgecolor=QUIET, hatch="////", align="edge")
        lower.set(xlabel="confidence, %", ylabel="count")
        lower.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=2))
        figure.legend(loc="outside lower center", ncols=3, columnspacing=1, handlelength=1.4)

    said = "; ".join(f"{100 * b.confidence:.0f} % sure, {100 * b.accuracy:.0f} % right" for b in bins)
    return drawn(draw, says=f"Reliability: {said}", height=320)


def length_chart(bins: Sequence[LengthBin], *, measure: str, length: str, bounded: bool) -> Markup:
    """The mean score of each bin with its 95 % interval; in percent where scores are `bounded`."""
    factor = 100 if bounded else 1

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=f"{length} (rows)", y=f"{measure}{', %' * bounded}")
        places = range(len(bins))
        heights, margins = [factor * b.score for b in bins], [factor * b.margin for b in bins]
        axes.errorbar(places, heights, yerr=margins, fmt="-o", color=ONE, capsize=4, markersize=6, linewidth=1.6)
        axes.set_xticks(places, [f"{_range(b)}\n({b.count:,})" for b in bins])
        axes.margins(x=0.08, y=0.12)
        axes.set_ylim(bottom=max(0, axes.get_ylim()[0]))

    said = "; ".join(f"{_range(b)} {length} {factor * b.score:.1f}" for b in bins)
    return drawn(draw, says=f"{measure} by length: {said}", height=260)


def scatter_chart(gold: np.ndarray, answers: np.ndarray) -> Markup:
    """Answers over golds, of some rows where there are many, with the diagonal."""
    some = np.random.default_rng(0).permutation(len(gold))[:DOTS]

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x="gold", y="answer")
        ends = [min(gold.min(), answers.min()), max(gold.max(), answers.max())]
        axes.plot(ends, ends, color=QUIET, linestyle="--", linewidth=1.2)
        axes.plot(gold[some], answers[some], "o", color=ONE, markersize=4, alpha=0.6, markeredgewidth=0)

    return drawn(draw, says=f"Answers over golds of {len(some)} rows", height=300)


def spread_chart(spreads: Sequence[Spread]) -> Markup:
    """Each seed's score as a dot, their mean as a line, the best baseline as a cross."""

    def draw(figure: Figure) -> None:
        axes = axes_of(figure)
        places = np.arange(len(spreads))[::-1]
        for place, one in zip(places, spreads, strict=True):
            shifts = np.linspace(-0.15, 0.15, len(one.scores))
            axes.plot(_percent(one.scores), place + shifts, "o", color=ONE, markersize=6, label="a seed")
            axes.plot([100 * one.mean] * 2, [place - 0.3, place + 0.3], color=INK, linewidth=2, label="mean")
            if one.baseline is not None:
                axes.plot(100 * one.baseline, place, "X", color=TWO, markersize=9, label="best baseline")
        axes.set_yticks(places, [cut(f"{one.split} {one.metric}", NAME) for one in spreads])
        axes.set_ylim(-0.6, len(spreads) - 0.4)
        handles = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)

    said = "; ".join(f"{one.split} {one.metric} {_list(one.scores)}" for one in spreads)
    return drawn(draw, says=f"Scores by seed: {said}", height=80 + 34 * len(spreads))


def _bars(bins: Sequence[Bin]) -> tuple[list[float], list[float], list[float]]:
    """Left edges, heights and widths in percent."""
    return [100 * b.low for b in bins], _percent([b.accuracy for b in bins]), [100 * (b.high - b.low) for b in bins]


def _percent(values: Sequence[float]) -> list[float]:
    return [100 * value for value in values]


def _again(values: Sequence[Any]) -> Any:
    from itertools import cycle

    return cycle(values)


def _range(one: LengthBin) -> str:
    return f"{one.shortest}" if one.shortest == one.longest else f"{one.shortest}–{one.longest}"


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{100 * value:.1f}" for value in values)


def _pairs(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * value:.1f}" for name, value in values.items()) or "none"
