"""The score over the number of training rows, where a setting was run with several."""

from collections.abc import Iterator
from dataclasses import replace

from finetune.commands.report.blocks import Block
from finetune.commands.report.learning_curve import learning_curve
from finetune.commands.report.page_runs import PageRuns

ORDER = 20


def blocks(page: PageRuns) -> Iterator[Block]:
    """A curve for each setting."""
    for curve in page.curves:
        yield replace(learning_curve(curve), title=f"Learning curve of {curve.sizes[0].records[0].task}")
