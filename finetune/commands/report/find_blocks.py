"""Finds the blocks of a section: each module of a package declares `ORDER`, its position, and `blocks`.

Blocks before REST are what a reader looks at first; the others are in a part of the page that is folded.

`all_runs` has `blocks(page: PageRuns)`, `several` `blocks(group: Group)`, `run` `blocks(run: RunFiles)` and `split`
`blocks(split: SplitView)`.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

from finetune.commands.report.blocks import Block
from finetune.commands.report.page_runs import Group, PageRuns
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.split_view import SplitView

REST = 100  # the ORDER from which blocks are folded

Subject = PageRuns | Group | RunFiles | SplitView


def blocks_of(folder: ModuleType, given: Subject) -> Iterator[Block]:
    """The blocks of every module of the package, by ORDER; `given` is what the blocks of that package are about."""
    for module in modules_of(folder):
        for block in module.blocks(given):
            yield replace(block, folded=module.ORDER >= REST)


def modules_of(folder: ModuleType) -> list[ModuleType]:
    """The modules of a package of blocks, by ORDER."""
    names = (module.name for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."))
    return sorted(map(importlib.import_module, names), key=lambda module: module.ORDER)
