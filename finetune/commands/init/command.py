"""`finetune init`: prints a recipe for data."""

from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS
from finetune.cli.asking import asking
from finetune.cli.options import note_line
from finetune.cli.terminal import echo, say
from finetune.data.paths import exists, read_small_text
from finetune.errors import UserError, nearest
from finetune.runs.toml import MOST_BYTES, recipe_files
from finetune.task_types.starting_recipe import commented, starting_recipe
from finetune.training.first_runs import checkpoint_of
from finetune.training.targets import split_arguments


def init_command(
    data: Annotated[str, typer.Argument(help="A file or folder of data, or the name of a recipe.")],
    settings: Annotated[list[str] | None, typer.Argument(help="Settings as key=value, such as label=topic.")] = None,
) -> None:
    """Prints a recipe: a shipped one unchanged, one for data with what was inferred in comments."""
    from finetune.checks.refusal import data_findings

    _, given = split_arguments(settings or [])
    if recipe_file := recipe_files().get(data):
        if given:
            raise UserError(f"{data} is a recipe, which is printed without settings", "Edit the file that you write")
        echo(read_small_text(recipe_file, most=MOST_BYTES), nl=False)
        return
    if not exists(data) and (near := nearest(data, list(recipe_files()))):
        raise UserError(f"there is no file and no recipe '{data}'", f"{near}`finetune ls` lists the recipes")
    checkpoint = checkpoint_of(given, RESULTS)
    recipe, task = asking(lambda settings: starting_recipe(data, settings, checkpoint=checkpoint), given)
    for finding in data_findings(task, [data, *(settings or [])]):
        say(note_line(finding.note), err=True)
    echo(commented(recipe, task), nl=False)
