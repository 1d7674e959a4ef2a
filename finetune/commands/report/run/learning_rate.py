"""The learning rate by update, as the log has it."""

from collections.abc import Iterator

from finetune.commands.report.blocks import Block
from finetune.commands.report.chart import Axis, chart
from finetune.commands.report.curves import POINTS
from finetune.commands.report.marks import line
from finetune.commands.report.run_files import RunFiles

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
