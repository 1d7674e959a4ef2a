"""The commands by group: a folder of `finetune/commands` each, of which `--help` imports what is listed alone."""

import pkgutil
from collections.abc import Iterable, Iterator
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


def _found() -> Iterator[tuple[str, Listed]]:
    """Every folder that lists a command; others have a function for Python alone."""
    for module in pkgutil.iter_modules(import_module(FOLDER).__path__):
        listed = getattr(import_module(f"{FOLDER}.{module.name}"), "LISTED", None)
        if listed is not None:
            yield module.name.replace("_", "-"), listed


def command_module(name: str) -> str:
    """The name of the module with the function of that command."""
    return f"{FOLDER}.{name.replace('-', '_')}.command"


def command_function(name: str) -> str:
    """The name of that function."""
    return f"{name.replace('-', '_')}_command"


def _in_groups(found: Iterable[tuple[str, Listed]]) -> dict[str, dict[str, Listed]]:
    """The commands of each group by place; a group that is not in `Group` comes last, under its own name."""
    every = sorted(found, key=lambda one: (one[1].place, one[0]))
    order = dict.fromkeys([*get_args(Group), *(listed.group for _, listed in every)])
    return {group: {name: one for name, one in every if one.group == group} for group in order}


GROUPS = _in_groups(_found())
COMMANDS = {name: one for listed in GROUPS.values() for name, one in listed.items()}
MEANT = {meant: name for name, one in COMMANDS.items() for meant in one.also}
