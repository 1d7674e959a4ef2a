"""A and B compared, where the page has two groups of seeds of one task."""

from collections.abc import Iterator

from finetune.commands.report import comparison
from finetune.commands.report.blocks import Block
from finetune.commands.report.page_runs import PageRuns

ORDER = 10


def blocks(page: PageRuns) -> Iterator[Block]:
    """The comparison's blocks, if there is one."""
    if page.comparison is not None:
        yield from comparison.blocks(page.groups[0], page.groups[1], page.comparison)
