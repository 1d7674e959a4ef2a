"""Coverage and accuracy: how many predictions are right if only the most confident are answered."""

from collections.abc import Iterator

import numpy as np

from finetune.analysis.pages.chart import Axis, chart
from finetune.analysis.pages.marks import line
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.curves import some_points
from finetune.commands.report.split_view import SplitView
from finetune.metrics.selective import coverage_curve, design_effect, risk_threshold

ORDER = 141
FEWEST_CLAIMS = 20  # claims, of fewer of which a curve says little
RISKS = (0.01, 0.02, 0.05, 0.1, 0.2)


def blocks(split: SplitView) -> Iterator[Block]:
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
                line(some_points(coverage[drawn], accuracy[drawn]), name="right"),
                line(some_points(coverage[drawn], bound[drawn]), colour="quiet", dash="6 3", name="at least"),
            ],
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
