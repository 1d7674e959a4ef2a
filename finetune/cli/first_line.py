"""What a command prints at once, before its module is imported: that takes most of a second, on a slow machine more."""

import os
from pathlib import Path

from finetune.cli.terminal import one_line, say
from finetune.runs.environment import first_process

RECIPES = Path(__file__).parents[1] / "recipes"
SILENT = {"--quiet", "-q", "--json", "--help"}
MEGABYTE = 1e6  # bytes; of a smaller file the size says nothing


def say_first(doing: str, arguments: list[str]) -> None:
    """Prints `reading reviews.csv, 161 MB` on standard error, of the data or recipes that are there among the arguments
    before the first option.
    """
    if SILENT & {*arguments} or not first_process() or "LOCAL_RANK" in os.environ:  # of several, which one has started
        return
    end = next((place for place, one in enumerate(arguments) if one.startswith("-")), len(arguments))
    found = [_described(name) for name in arguments[:end] if _is_there(name)]
    if found:
        say(one_line(f"{doing} {'; '.join(found)}"), err=True)


def _is_there(name: str) -> bool:
    """Whether data, a file of a recipe or a built-in recipe has that name; another is an error later."""
    try:
        return bool(name) and (Path(name).exists() or (RECIPES / f"{name}.toml").is_file())
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False


def _described(name: str) -> str:
    """The name, and the size of a large file."""
    path = Path(name)
    size = path.stat().st_size if path.is_file() else 0
    return name if size < MEGABYTE else f"{name}, {size / MEGABYTE:,.0f} MB"
