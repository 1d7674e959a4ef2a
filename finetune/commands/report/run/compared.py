"""A student next to its teacher and itself without one."""

from collections.abc import Iterator

from finetune.analysis.recorded_models import SIZE, compared_cells
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import RunFiles
from finetune.metrics.scores import plain_metrics

ORDER = 14


def blocks(run: RunFiles) -> Iterator[Block]:
    """Scores, size and speed of each; none for other runs."""
    record = run.record
    if record.compared:
        columns = ["split", "model", "runs", *plain_metrics(record.scores[record.first_split]), *SIZE]
        yield Block(title="Compared", table=TableBlock(columns=columns, rows=compared_cells(record)), wide=True)
