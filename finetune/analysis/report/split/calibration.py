"""Reliability diagram and expected calibration error (Guo et al. 2017); for a softmax also with temperature."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.chart import Axis, stacked
from finetune.analysis.report.marks import bars, dots, line
from finetune.analysis.report.split_view import SplitView
from finetune.analysis.report.temperature import Temperature
from finetune.metrics.calibration import Bin, expected_error, reliability
from finetune.metrics.temperature import highest_with_temperature

ORDER = 40


def blocks(split: SplitView) -> Iterator[Block]:
    """A diagram, if predictions have a confidence."""
    found = split.view.decisions()
    if found is None or not len(found[0]):
        return
    bins, after, temperature = reliability(*found), list[Bin](), split.temperature
    note = (
        f"Expected calibration error (ECE) {100 * expected_error(bins):.1f} points "
        f"over {len(found[0]):,} {split.view.decision}."
    )
    if temperature is not None:
        chances = [line["probabilities"] for line in split.view.lines]
        after = reliability(highest_with_temperature(chances, temperature.value), found[1])
        note += temperature_words(temperature, expected_error(bins), expected_error(after))
    yield Block(title="Calibration", note=note, chart=_chart(bins, after))


def temperature_words(temperature: Temperature, before: float, after: float) -> str:
    """The error with a temperature, which lowers the log loss of the rows it was fitted on, but not always this."""
    fitted = f"temperature {temperature.value:.2f}, which has the least log loss on {temperature.fitted_on}"
    if after < before:
        return f" With the {fitted}, {100 * after:.1f}."
    return f" The {fitted}, does not lower it ({100 * after:.1f}), so that predictions are best left without."


def _chart(bins: Sequence[Bin], after: Sequence[Bin]) -> Markup:
    """Accuracy over confidence with the diagonal, and below it the number of decisions per bin.

    `after` are the bins with a temperature, empty without one.
    """
    upper = [
        bars([(100 * b.low, 0.0, 100 * b.high, 100 * b.accuracy) for b in bins], name="found"),
        line([(0, 0), (100, 100)], colour="quiet", dash="6 3", name="calibrated"),
    ]
    if after:
        points = [(100 * b.confidence, 100 * b.accuracy) for b in after]
        upper.append(dots(points, colour="s2", shape="diamond", name="with temperature"))
    lower = [bars([(100 * b.low, 0.0, 100 * b.high, float(b.count)) for b in bins], colour="quiet")]
    shares = "; ".join(f"confidence {100 * b.confidence:.0f} %, {100 * b.accuracy:.0f} % right" for b in bins)
    return stacked(
        upper, lower, x=Axis(label="confidence, %", low=0.0, high=100.0),
        ys=[Axis(label="right, %", low=0.0, high=104.0), Axis(label="count", low=0.0, whole=True)],
        says=f"Reliability: {shares}",
    )  # fmt: skip
