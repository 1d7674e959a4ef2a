"""Score by text length, in bins of about equal size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart
from finetune.analysis.pages.marks import intervals, line
from finetune.commands.report.blocks import Block
from finetune.commands.report.split_view import SplitView
from finetune.metrics.row_means import mean_interval
from finetune.task_types.view import View

ORDER = 150
MOST_BINS = 6  # bins
FEWEST_ROWS = 10  # rows of a bin


@dataclass(frozen=True, kw_only=True)
class LengthBin:
    """Rows of length `shortest` to `longest`; `interval` is the 95 % one of their mean score, None if unknown."""

    shortest: int
    longest: int
    count: int
    score: float
    interval: tuple[float, float] | None


def blocks(split: SplitView) -> Iterator[Block]:
    """The mean score of each bin, where there are several."""
    view = split.view
    if len(bins := length_bins(view.lengths(), view.scores(), bounded=view.bounded)) > 1:
        note = f"{view.measure}, in bins of about equal size, with 95 % intervals."
        yield Block(title="Length and score", note=note[0].upper() + note[1:], chart=_chart(bins, view))


def length_bins(lengths: np.ndarray, scores: np.ndarray, *, bounded: bool = True) -> list[LengthBin]:
    """Bins by quantiles of length; rows of equal length share a bin. Scores are at most 1 if `bounded`."""
    lengths, scores = np.asarray(lengths), np.asarray(scores, float)
    if not len(lengths):
        return []
    wanted = max(1, min(MOST_BINS, len(lengths) // FEWEST_ROWS))
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, wanted + 1)[1:-1], method="lower"))
    bin_of = np.searchsorted(edges, lengths, side="left")
    return [_bin(lengths[bin_of == index], scores[bin_of == index], bounded) for index in np.unique(bin_of)]


def _bin(lengths: np.ndarray, scores: np.ndarray, bounded: bool) -> LengthBin:
    return LengthBin(
        shortest=int(lengths.min()),
        longest=int(lengths.max()),
        count=len(lengths),
        score=float(scores.mean()),
        interval=mean_interval(scores, bounded=bounded),
    )


def _chart(bins: Sequence[LengthBin], view: View) -> Markup:
    """The mean score of each bin with its 95 % interval; in percent if scores are between 0 and 1."""
    factor = 100 if view.bounded else 1
    points = [(float(at), factor * b.score) for at, b in enumerate(bins)]
    ends = [
        ((float(at), factor * b.interval[0]), (float(at), factor * b.interval[1]))
        for at, b in enumerate(bins)
        if b.interval is not None
    ]
    gap = "\n" * (bins[-1].longest >= 1_000)  # else the texts of ticks overlap
    ticks = [(float(at), f"{_range(b, gap)}\n({b.count:,})") for at, b in enumerate(bins)]
    marks = [intervals(ends), line(points, marker="circle", tips=True)]
    said = "; ".join(f"{_range(b)} {view.length_in} {factor * b.score:.1f}" for b in bins)
    return chart(
        marks, x=Axis(label=f"{view.length_in} (rows)", ticks=ticks, low=-0.5, high=len(bins) - 0.5),
        y=Axis(label=f"{view.measure}{', %' * view.bounded}"), height=190, says=f"{view.measure} by length: {said}",
    )  # fmt: skip


def _range(one: LengthBin, gap: str = "") -> str:
    return f"{one.shortest}" if one.shortest == one.longest else f"{one.shortest}–{gap}{one.longest}"
