"""The settings of a run."""

from collections.abc import Iterator

from finetune.commands.report.blocks import Block
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.settings import settings_block

ORDER = 140


def blocks(run: RunFiles) -> Iterator[Block]:
    """One table."""
    yield settings_block([run])
