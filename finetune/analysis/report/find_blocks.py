"""Finds the blocks of a section: each module of a package declares `ORDER`, its position, and `blocks`."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from finetune.analysis.report.blocks import Block


def blocks_of(folder: ModuleType, *given: Any) -> Iterator[Block]:
    """The blocks of every module of the package for these arguments, by ORDER."""
    names = (module.name for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."))
    for module in sorted(map(importlib.import_module, names), key=lambda module: module.ORDER):
        yield from module.blocks(*given)
