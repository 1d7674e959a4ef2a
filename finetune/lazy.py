"""Packages whose public names are imported when they are first used, since what they need may take seconds."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from finetune.gone import gone


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `homes` are modules of finetune and the names that each gives, which may be that
    of the module itself.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def attribute(name: str) -> Any:
        if name not in home:
            taken_out = gone(f"{package}.{name}")
            raise AttributeError(str(taken_out or f"module '{package}' has no attribute '{name}'"))
        module = import_module(f"finetune.{home[name]}")
        value = getattr(module, name, module)
        setattr(sys.modules[package], name, value)
        return value

    return attribute
