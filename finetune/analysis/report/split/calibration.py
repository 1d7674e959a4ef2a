"""Reliability diagram and expected calibration error (Guo et al. 2017); for a softmax also with temperature."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.svg import ONE, QUIET, SURFACE, TWO, drawn, percent
from finetune.analysis.report.temperature import Temperature
from finetune.metrics.calibration import Bin, expected_error, reliability
from finetune.metrics.temperature import highest_with_temperature
from finetune.task_types.view import View

ORDER = 40


def blocks(view: View, temperature: Temperature | None) -> Iterator[Block]:
    """A diagram, if predictions have a confidence."""
    found = view.decisions()
    if found is None or not len(found[0]):
        return
    bins, after = reliability(*found), list[Bin]()
    note = (
        f"Expected calibration error (ECE) {100 * expected_error(bins):.1f} points "
        f"over {len(found[0]):,} {view.decision}."
    )
    if temperature is not None:
        chances = [line["probabilities"] for line in view.lines]
        after = reliability(highest_with_temperature(chances, temperature.value), found[1])
        note += (
            f" With the temperature {temperature.value:.2f}, fitted on {temperature.fitted_on}, "
            f"{100 * expected_error(after):.1f}."
        )
    yield Block(title="Calibration", note=note, chart=_chart(bins, after))


def _chart(bins: Sequence[Bin], after: Sequence[Bin]) -> Markup:
    """Accuracy over confidence with the diagonal, and below it the number of decisions per bin.

    `after` are the bins with a temperature, empty without one.
    """

    def draw(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        upper.plot([0, 100], [0, 100], color=QUIET, linestyle="--", linewidth=1.2, label="calibrated")
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

    shares = "; ".join(f"confidence {100 * b.confidence:.0f} %, {100 * b.accuracy:.0f} % right" for b in bins)
    return drawn(draw, says=f"Reliability: {shares}", height=320)


def _bars(bins: Sequence[Bin]) -> tuple[list[float], list[float], list[float]]:
    """Left edges, heights and widths in percent."""
    return [100 * b.low for b in bins], percent([b.accuracy for b in bins]), [100 * (b.high - b.low) for b in bins]
