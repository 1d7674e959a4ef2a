"""The settings of all runs, a column for each."""

from collections.abc import Iterator

from finetune.commands.report.blocks import Block
from finetune.commands.report.page_runs import PageRuns
from finetune.commands.report.settings import settings_block

ORDER = 140


def blocks(page: PageRuns) -> Iterator[Block]:
    """One table."""
    yield settings_block(page.runs)
