"""Methods that are commands, such as `run.report`, call them by name, as the command line does: they lie above."""

from importlib import import_module
from typing import Any


def command(name: str) -> Any:
    """The module of that command's functions, imported when a method needs it."""
    return import_module(f"finetune.commands.{name}.api")
