"""The notes of a run: skipped rows, options chosen on dev, undefined scores."""

from collections.abc import Iterator

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.run_files import RunFiles
from finetune.runs.dev_choices import all_notes
from finetune.task_types.marked_text import cut

ORDER = 60
MOST_ROWS = 50


def blocks(run: RunFiles) -> Iterator[Block]:
    """A table with one line per note."""
    if notes := all_notes(run.record):
        table = Table(columns=["note"], rows=[[cut(note)] for note in notes[:MOST_ROWS]])
        yield Block(title="Notes of the run", table=table)
