"""`finetune cp`: copies a recipe to edit."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.terminal import say
from finetune.data.outputs import output_file, require_replaceable_output
from finetune.data.paths import exists, read_small_text
from finetune.errors import UserError
from finetune.runs.toml import MOST_BYTES
from finetune.training.targets import find_recipes


def cp_command(
    name: Annotated[str, typer.Argument(help="The recipe to copy.")],
    to: Annotated[Path | None, typer.Argument(help="Default: NAME.toml here.")] = None,
) -> None:
    """Writes the file and prints the command that runs it. Raises UserError if the file exists."""
    for file in find_recipes(name):
        target = to or Path(file.name)
        if exists(target):
            raise UserError(f"{target} already exists", "Name another file: `finetune cp NAME FILE`")
        require_replaceable_output(target, endings=[".toml"])
        text = read_small_text(file, most=MOST_BYTES)
        with output_file(target, remedy="Name another file") as scratch:
            scratch.write_text(text, encoding="utf-8")
        say(f"{file.stem} -> {target}; run it: finetune run {target}")
