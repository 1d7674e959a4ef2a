"""Finds the blocks of a section: each file of a folder declares `ORDER`, its place, and `blocks`, what it shows."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from finetune.analysis.report.blocks import Block


def blocks_of(folder: ModuleType, *given: Any) -> Iterator[Block]:
    """What every file of the folder shows of what it is given, in the files' order."""
    names = (module.name for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."))
    for module in sorted(map(importlib.import_module, names), key=lambda module: module.ORDER):
        yield from module.blocks(*given)
