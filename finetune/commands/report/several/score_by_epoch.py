"""The headline score of each seed by epoch."""

from collections.abc import Iterator, Sequence

from finetune.commands.report.blocks import Block
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.score_by_epoch import score_by_epoch
from finetune.runs.seeds import seed_words

ORDER = 20
MOST_CURVES = 6


def blocks(group: Sequence[RunFiles]) -> Iterator[Block]:
    """One curve per seed, at most MOST_CURVES."""
    records = {seed_words(run.record): run.record for run in group[:MOST_CURVES]}
    if all(len(record.epochs) > 1 for record in records.values()):
        yield score_by_epoch(records)
