"""The learning rate by update, as the log has it."""

from collections.abc import Iterator

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.chart import Axis, chart
from finetune.analysis.report.curves import POINTS
from finetune.analysis.report.marks import line
from finetune.analysis.report.run_files import RunFiles

ORDER = 25


def blocks(run: RunFiles) -> Iterator[Block]:
    """A curve; every so many updates of a long run."""
    if len({rate for _, rate in run.rates}) < 2:
        return
    points = run.rates[:: max(1, len(run.rates) // POINTS)]
    high = max(rate for _, rate in run.rates)
    yield Block(
        title="Learning rate",
        chart=chart(
            [line(points)], x=Axis(label="update", whole=True), y=Axis(label="learning rate", low=0.0), height=150,
            says=f"Learning rate by update, at most {high:.3g} and at the end {run.rates[-1][1]:.3g}",
        ),
    )  # fmt: skip
