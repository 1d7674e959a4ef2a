"""What the command line lists of a command, in the `__init__.py` of its folder, so that `--help` imports no command."""

from dataclasses import dataclass
from typing import Literal

Group = Literal["Train", "Use", "Data", "Look"]  # of commands, in the order of `finetune --help`


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A command's line in the list of commands, its place in its group, and its examples (what is typed, what it does).

    `settings` are those that most users need first (how one is typed, what it means), `also` the names that the command
    has elsewhere; `takes_settings` says whether it takes those of a recipe, as key=value.
    """

    group: Group
    place: int
    help: str
    examples: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...] = ()
    also: tuple[str, ...] = ()
    takes_settings: bool = False
