"""The commands by group: a folder of `finetune/commands` each, of which `--help` imports what is listed alone."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import get_args

from finetune.cli.listed import Group, Listed

FOLDER = "finetune.commands"
FIRST = (  # what `finetune --help` shows
    ("finetune check reviews.csv", "your own file: format and problems"),
    ("finetune run reviews.csv", "trains, scores on held-out rows"),
    ("finetune predict reviews.csv new.csv", "every row of another file"),
    ("finetune run glue-mrpc", "a recipe: BERT on MRPC"),
)


@cache
def listed(name: str) -> Listed | None:
    """What the folder of a command lists; None for another name, as of a folder with a function for Python alone."""
    if name not in _folders():
        return None
    found: Listed | None = getattr(import_module(f"{FOLDER}.{_folders()[name]}"), "LISTED", None)
    return found


@cache
def _folders() -> dict[str, str]:
    modules = pkgutil.iter_modules(import_module(FOLDER).__path__)
    return {module.name.replace("_", "-"): module.name for module in modules}


def command_module(name: str) -> str:
    """The name of the module with the function of that command."""
    return f"{FOLDER}.{name.replace('-', '_')}.command"


def command_function(name: str) -> str:
    """The name of that function."""
    return f"{name.replace('-', '_')}_command"


@cache
def command_groups() -> dict[str, dict[str, Listed]]:
    """The commands of each group by place; a group that is not in `Group` comes last, under its own name."""
    every = sorted(
        ((name, one) for name in _folders() if (one := listed(name))), key=lambda one: (one[1].place, one[0])
    )
    order = dict.fromkeys([*get_args(Group), *(one.group for _, one in every)])
    return {group: {name: one for name, one in every if one.group == group} for group in order}


def commands() -> dict[str, Listed]:
    """All commands, group by group."""
    return {name: one for group in command_groups().values() for name, one in group.items()}
