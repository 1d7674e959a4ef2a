"""The run's headline score by epoch."""

from collections.abc import Iterator

from finetune.commands.report.blocks import Block
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.score_by_epoch import score_by_epoch

ORDER = 130


def blocks(run: RunFiles) -> Iterator[Block]:
    """A chart with one curve, where there are several epochs."""
    if len(run.record.epochs) > 1:
        yield score_by_epoch({f"seed {run.record.recipe['seed']}": run.record})
