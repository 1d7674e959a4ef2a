"""The old model against the new one on the old dev rows, where a run has kept the labels of another."""

from collections.abc import Iterator

from finetune.analysis.recorded_models import COLUMNS, old_and_new
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import NAME
from finetune.task_types.marked_text import cut

ORDER = 12
MOST_LINES = 60


def blocks(run: RunFiles) -> Iterator[Block]:
    """The sentence and the F1 of each old label; none for other runs."""
    found = old_and_new(run.record)
    if found is None:
        return
    lines = [[cut(name, NAME), *cells] for name, *cells in found.cells[:MOST_LINES]]
    table = TableBlock(columns=list(COLUMNS), rows=lines, sorts=True) if lines else None
    yield Block(
        title="Old model and new", note=f"{found.sentence}. F1 by label:" if lines else found.sentence, table=table
    )
