"""Charts of the predictions of a split. What differs in colour differs in marker, line or hatch too."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from finetune.analysis.report.lengths import LengthBin
from finetune.analysis.report.svg import NAME, ONE, QUIET, SURFACE, THREE, TWO, axes_of, drawn, percent
from finetune.metrics.calibration import Bin
from finetune.task_types.marked_text import cut
from finetune.task_types.view import ClassScore

DOTS = 600  # of a scatter plot


def class_chart(classes: Sequence[ClassScore]) -> Markup:
    """Precision, recall and F1 of each class as three markers on a line."""

    def draw(figure: Figure) -> None:
        axes = axes_of(figure)
        places = np.arange(len(classes))[::-1]
        for place, one in zip(places, classes, strict=True):
            axes.plot(percent([one.precision, one.recall]), [place, place], color=QUIET, linewidth=1)
        for part, marker, colour in (("precision", "<", TWO), ("recall", ">", THREE), ("f1", "o", ONE)):
            values = percent([getattr(one, part) for one in classes])
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
            middle, heights = percent([b.confidence for b in after]), percent([b.accuracy for b in after])
            upper.plot(middle, heights, "D", color=TWO, markersize=6, markeredgecolor=SURFACE, label="with temperature")
        upper.set(ylabel="right, %", xlim=(0, 100), ylim=(0, 104))
        starts, _, widths = _bars(bins)
        lower.bar(
            starts, [b.count for b in bins], widths, facecolor=SURFACE, edgecolor=QUIET, hatch="////", align="edge"
        )
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
        gap = "\n" * (bins[-1].longest >= 1_000)  # else the names run into each other
        heights, margins = [factor * b.score for b in bins], [factor * b.margin for b in bins]
        axes.errorbar(places, heights, yerr=margins, fmt="-o", color=ONE, capsize=4, markersize=6, linewidth=1.6)
        axes.set_xticks(places, [f"{_range(b, gap)}\n({b.count:,})" for b in bins])
        axes.margins(x=0.08, y=0.12)
        low, high = axes.get_ylim()
        axes.set_ylim(max(0, low), min(high, 102) if bounded else high)

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


def _bars(bins: Sequence[Bin]) -> tuple[list[float], list[float], list[float]]:
    """Left edges, heights and widths in percent."""
    return [100 * b.low for b in bins], percent([b.accuracy for b in bins]), [100 * (b.high - b.low) for b in bins]


def _range(one: LengthBin, gap: str = "") -> str:
    return f"{one.shortest}" if one.shortest == one.longest else f"{one.shortest}–{gap}{one.longest}"
