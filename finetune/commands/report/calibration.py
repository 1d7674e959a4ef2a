"""Whether the confidence of predictions can be trusted: reliability, losses, and accuracy by coverage."""

from collections.abc import Iterator

import numpy as np

from finetune.analysis.pages.svg import Axis, Mark, bars, chart, dots, intervals, line, stacked
from finetune.analysis.temperature import Temperature
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import SplitView
from finetune.metrics.calibration import brier, cut_off_cells, expected_error, log_loss, reliability
from finetune.metrics.selective import coverage_curve, design_effect, risk_threshold
from finetune.metrics.temperature import highest_with_temperature
from finetune.task_types.view import View

FEWEST_DECISIONS = 10  # decisions, under which a bin is drawn as an outline
POINTS = 150  # of a drawn curve
FEWEST_CLAIMS = 20  # claims, of fewer of which a curve says little
RISKS = (0.01, 0.02, 0.05, 0.1, 0.2)


def calibration_block(split: SplitView) -> Iterator[Block]:
    """Accuracy over confidence with its intervals and the diagonal, also with a temperature, and below it the number of
    decisions per bin; if predictions have a confidence. Bins of few decisions are outlines.
    """
    view, temperature, found = split.view, split.temperature, split.view.decisions()
    if found is None or not len(found[0]):
        return
    bins = reliability(*found)
    error = expected_error(bins)
    note = f"Expected calibration error (ECE) {100 * error:.1f} points over {len(found[0]):,} {view.decision}."
    marks: list[Mark] = []
    for few, colour, name in ((False, "s1", "found"), (True, "few", f"found, under {FEWEST_DECISIONS}")):
        some = [one for one in bins if (one.count < FEWEST_DECISIONS) == few]
        boxes = [(100 * one.low, 0.0, 100 * one.high, 100 * one.accuracy) for one in some]
        marks += [bars(boxes, colour=colour, name=name)] if boxes else []
    ends = [((50 * (one.low + one.high), 100 * one.interval[0]), (50 * (one.low + one.high), 100 * one.interval[1]))
            for one in bins if one.interval is not None]  # fmt: skip
    marks += [intervals(ends, colour="ink", name="95 % interval")] if ends else []
    marks.append(line([(0, 0), (100, 100)], colour="quiet", dash="6 3", name="calibrated"))
    if temperature is not None:
        chances = [each["probabilities"] for each in view.lines]
        after = reliability(highest_with_temperature(chances, temperature.value), found[1])
        note += temperature_words(temperature, error, expected_error(after))
        points = [(100 * one.confidence, 100 * one.accuracy) for one in after]
        marks.append(dots(points, colour="s2", shape="diamond", name="with temperature"))
    said = [f"confidence {100 * one.confidence:.0f} %, {100 * one.accuracy:.0f} % right of {one.count}" for one in bins]
    drawn = stacked(
        marks,
        [bars([(100 * one.low, 0.0, 100 * one.high, float(one.count)) for one in bins], colour="quiet")],
        x=Axis(label="confidence, %", low=0.0, high=100.0),
        ys=[Axis(label="right, %", low=0.0, high=104.0), Axis(label="count", low=0.0, whole=True)],
        says=f"Reliability: {'; '.join(said)}",
    )
    table = TableBlock(columns=["confidence", view.decision, "share, %", "right, %"], rows=cut_off_cells(*found))
    yield Block(title="Calibration", note=f"{note} {_losses(view, *found)}", chart=drawn, table=table)


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


def coverage_block(split: SplitView) -> Iterator[Block]:
    """A curve over thresholds of the confidence, and the risks that these rows promise."""
    found = [(row, claim) for row, each in enumerate(split.view.lines) for claim in split.view.claims(each)]
    if len(found) < FEWEST_CLAIMS:
        return
    of, confidence = split.view.claimed, np.array([claim.confidence for _, claim in found])
    right, rows = np.array([claim.right for _, claim in found]), np.array([row for row, _ in found])
    coverage, accuracy, bound = coverage_curve(confidence, right)
    first = min(FEWEST_CLAIMS, len(coverage) - 1)  # one error in the first few is half of them
    drawn = np.unique(np.linspace(first, len(coverage) - 1, POINTS).round().astype(int))
    curve, least = (list(zip((100 * coverage[drawn]).tolist(), (100 * some[drawn]).tolist(), strict=True))
                    for some in (accuracy, bound))  # fmt: skip
    yield Block(
        title="Coverage and accuracy",
        note=(
            f"How many {of} are right if only the most confident are answered; of all {len(found):,}, "
            f"{100 * right.mean():.1f} %. The dashed line is the lower bound at 95 %."
        ),
        chart=chart(
            [line(curve, name="right"), line(least, colour="quiet", dash="6 3", name="at least")],
            x=Axis(label=f"answered {of}, %", low=0.0, high=100.0), y=Axis(label="right, %", high=100.0), height=230,
            says=f"Accuracy by coverage: {100 * right.mean():.1f} % of all are right",
        ),
        table=_promises(confidence, right, rows, of),
    )  # fmt: skip


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
