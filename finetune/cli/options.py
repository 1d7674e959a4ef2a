"""The library names arguments as in Python (`force`); the command line prints the options that they are (`--force`)."""

import re
from collections.abc import Iterable

NAME = re.compile("`([a-z][a-z0-9_]*)`")
known: dict[str, str] = {}  # options of the command that was called, by the name of the argument


def set_options(options: Iterable[str]) -> None:
    """Sets the options of the command that was called, such as `--data-sizes`."""
    known.clear()
    known.update({option[2:].replace("-", "_"): option for option in options if option.startswith("--")})
    known.update(data_folder="--data", force="--force")  # remedies name them in any command


def with_options(text: str) -> str:
    """A message of the library with its arguments as options: "run it with `--force`"."""
    return NAME.sub(lambda match: f"`{known.get(match[1], match[1])}`", text)


def note_line(text: str) -> str:
    """A note with option names as the command line has them."""
    return f"note: {with_options(text)}"
