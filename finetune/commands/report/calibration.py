"""Whether the confidence of predictions can be trusted: reliability, losses, and accuracy by coverage."""

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup

from finetune.analysis.pages.svg import Axis, Mark, bars, chart, dots, intervals, line, stacked
from finetune.analysis.temperature import Temperature
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import SplitView
from finetune.metrics.calibration import Bin, brier, cut_off_cells, expected_error, log_loss, reliability
from finetune.metrics.selective import coverage_curve, design_effect, risk_threshold
from finetune.metrics.temperature import highest_with_temperature
from finetune.task_types.view import View

FEWEST_DECISIONS = 10  # decisions, under which a bin is drawn as an outline


def calibration_block(split: SplitView) -> Iterator[Block]:
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
    yield Block(
        title="Calibration", note=f"{note} {_losses(split.view, *found)}", chart=_reliability_chart(bins, after),
        table=TableBlock(
            columns=["confidence", split.view.decision, "share, %", "right, %"],
            rows=[[cut_off, *cells] for cut_off, *cells in cut_off_cells(*found)],
        ),
    )  # fmt: skip


def _losses(view: View, confidence: np.ndarray, right: np.ndarray) -> str:
    """Log loss and Brier score of the probabilities, or of whether a prediction is right where no others are known."""
    given, of = view.chances(), f" of whether {view.decision} are right"
    if given is None:
        chances, places = np.column_stack([1 - confidence, confidence]), np.asarray(right, int)
    else:
        most, of = max(map(len, given[0])), ""  # rows of multiple choice may have fewer
        chances = np.array([[*some, *[0.0] * (most - len(some))] for some in given[0]])
        places = np.array(given[1])
    return f"Log loss {log_loss(chances, places):.3f} and Brier score {brier(chances, places):.3f}{of}."


def temperature_words(temperature: Temperature, before: float, after: float) -> str:
    """The error with a temperature, which lowers the log loss of the rows it was fitted on, but not always this."""
    fitted = f"temperature {temperature.value:.2f}, which has the least log loss on {temperature.fitted_on}"
    if after < before:
        return f" With the {fitted}, {100 * after:.1f}."
    return f" The {fitted}, does not lower it ({100 * after:.1f}), so that predictions are best left without."


def _reliability_chart(bins: Sequence[Bin], after: Sequence[Bin]) -> Markup:
    """Accuracy over confidence with its intervals and the diagonal, and below it the number of decisions per bin.

    `after` are the bins with a temperature, empty without one.
    """
    upper = [*_accuracies(bins), line([(0, 0), (100, 100)], colour="quiet", dash="6 3", name="calibrated")]
    if after:
        points = [(100 * b.confidence, 100 * b.accuracy) for b in after]
        upper.append(dots(points, colour="s2", shape="diamond", name="with temperature"))
    lower = [bars([(100 * b.low, 0.0, 100 * b.high, float(b.count)) for b in bins], colour="quiet")]
    shares = "; ".join(
        f"confidence {100 * b.confidence:.0f} %, {100 * b.accuracy:.0f} % right of {b.count}" for b in bins
    )
    return stacked(
        upper, lower, x=Axis(label="confidence, %", low=0.0, high=100.0),
        ys=[Axis(label="right, %", low=0.0, high=104.0), Axis(label="count", low=0.0, whole=True)],
        says=f"Reliability: {shares}",
    )  # fmt: skip


def _accuracies(bins: Sequence[Bin]) -> Iterator[Mark]:
    """A bar for each bin, those of few decisions as outlines, and their intervals."""
    for few, colour, name in ((False, "s1", "found"), (True, "few", f"found, under {FEWEST_DECISIONS}")):
        boxes = [
            (100 * b.low, 0.0, 100 * b.high, 100 * b.accuracy) for b in bins if (b.count < FEWEST_DECISIONS) == few
        ]
        if boxes:
            yield bars(boxes, colour=colour, name=name)
    ends = [((50 * (b.low + b.high), 100 * b.interval[0]), (50 * (b.low + b.high), 100 * b.interval[1]))
            for b in bins if b.interval is not None]  # fmt: skip
    if ends:
        yield intervals(ends, colour="ink", name="95 % interval")


POINTS = 150  # of a drawn curve
FEWEST_CLAIMS = 20  # claims, of fewer of which a curve says little
RISKS = (0.01, 0.02, 0.05, 0.1, 0.2)


def coverage_block(split: SplitView) -> Iterator[Block]:
    """A curve over thresholds of the confidence, and the risks that these rows promise."""
    found = [(row, claim) for row, each in enumerate(split.view.lines) for claim in split.view.claims(each)]
    if len(found) < FEWEST_CLAIMS:
        return
    confidence = np.array([claim.confidence for _, claim in found])
    right, rows = np.array([claim.right for _, claim in found]), np.array([row for row, _ in found])
    of, (coverage, accuracy, bound) = split.view.claimed, coverage_curve(confidence, right)
    drawn = np.arange(len(coverage)) >= min(
        FEWEST_CLAIMS, len(coverage) - 1
    )  # one error in the first few is half of them
    yield Block(
        title="Coverage and accuracy",
        note=(
            f"How many {of} are right if only the most confident are answered; of all {len(found):,}, "
            f"{100 * right.mean():.1f} %. The dashed line is the lower bound at 95 %."
        ),
        chart=chart(
            [
                line(_some_points(coverage[drawn], accuracy[drawn]), name="right"),
                line(_some_points(coverage[drawn], bound[drawn]), colour="quiet", dash="6 3", name="at least"),
            ],
            x=Axis(label=f"answered {of}, %", low=0.0, high=100.0), y=Axis(label="right, %", high=100.0), height=230,
            says=f"Accuracy by coverage: {100 * right.mean():.1f} % of all are right",
        ),
        table=_promises(confidence, right, rows, of),
    )  # fmt: skip


def _some_points(xs: np.ndarray, ys: np.ndarray) -> list[tuple[float, float]]:
    """At most POINTS points of a curve in percent, both ends among them."""
    places = np.unique(np.linspace(0, len(xs) - 1, min(POINTS, len(xs))).round().astype(int))
    return [(100 * float(xs[at]), 100 * float(ys[at])) for at in places]


def _promises(confidence: np.ndarray, right: np.ndarray, rows: np.ndarray, of: str) -> TableBlock | None:
    """For each risk that these rows promise the share that is answered; None where they promise none."""
    effect = design_effect(~right, rows)
    found = [(risk, risk_threshold(confidence, right, risk, effect=effect)) for risk in RISKS]
    lines = [
        [f"{100 * risk:g} %", f"{one.threshold:.3f}", f"{100 * one.coverage:.1f}", f"{100 * one.wrong:.1f}"]
        for risk, one in found
        if one is not None
    ]
    columns = ["risk", "confidence, at least", f"answered {of}, %", "wrong of them, %"]
    return TableBlock(columns=columns, rows=lines) if lines else None
