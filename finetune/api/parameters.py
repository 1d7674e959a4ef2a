"""How the parameters of commands are typed on the command line; one without a mark is `--its-name`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated


@dataclass(frozen=True, kw_only=True)
class Cli:
    """The command line's side of a parameter.

    Attributes:
        names: Its options, such as `-o` and `--output`.
        setting: It is typed as `key=value`, and where it has `names` as an option too.
        default: What it is where it is not typed, if that is not its default in Python.
        python: It is for callers in Python alone.
        least: Its least value.
        help: Its line in `--help`, if that of the docstring is not for a terminal.
        recipes: The shell completes names of recipes and settings.
    """

    names: tuple[str, ...] = ()
    setting: bool = False
    default: str | None = None
    python: bool = False
    least: float | None = None
    help: str | None = None
    recipes: bool = False


SETTING, PYTHON = Cli(setting=True), Cli(python=True)
Columns = Annotated[str | Sequence[str] | None, SETTING]
Setting = Annotated[str, SETTING]
DataFolder = Annotated[str | Path | None, Cli(names=("--data",))]
OutputFile = Annotated[str | Path | None, Cli(names=("-o", "--output"))]
