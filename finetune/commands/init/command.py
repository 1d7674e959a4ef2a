"""`finetune init`: prints a recipe for data."""

from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS
from finetune.cli.asking import asking
from finetune.cli.terminal import echo
from finetune.task_types.starting_recipe import commented, starting_recipe
from finetune.training.first_runs import checkpoint_of
from finetune.training.targets import split_arguments


def init_command(
    data: Annotated[str, typer.Argument(help="A file or folder of data.")],
    settings: Annotated[list[str] | None, typer.Argument(help="Settings as key=value, such as label=topic.")] = None,
) -> None:
    """Prints a recipe, with what was inferred about the data in comments."""
    from finetune.checks.refusal import require_sound_data

    _, given = split_arguments(settings or [])
    checkpoint = checkpoint_of(given, RESULTS)
    recipe, task = asking(lambda settings: starting_recipe(data, settings, checkpoint=checkpoint), given)
    require_sound_data([task])
    echo(commented(recipe, task), nl=False)
