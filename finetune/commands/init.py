"""`finetune init`: a recipe to edit."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from finetune.analysis.table import NoteLine, Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import recipe_settings
from finetune.data.paths import exists, read_small_text
from finetune.errors import UserError, nearest
from finetune.runs.settings import MOST_BYTES, recipe_files, typed_settings
from finetune.task_types.starting_recipe import commented, starting_recipe
from finetune.training.first_runs import checkpoint_of


@plainly
def init(data: str | Path, *, out: str | Path = "results", **settings: Any) -> str:
    """Gives a recipe as TOML: a shipped one unchanged, one for data with what was inferred in comments.

    Example: `Path("mine.toml").write_text(finetune.init("reviews.csv", label="stars"))`

    Args:
        data: A file or folder of data, or the name of a recipe.
        out: The folder of runs that `model` may name.
        **settings: Settings as for `finetune.run`, such as `label="topic"`.

    Returns:
        The text of the recipe.

    Raises:
        UserError: For data that cannot be read, and settings of a shipped recipe.
    """
    from finetune.checks.all_checks import data_findings

    name, wanted = str(data), recipe_settings(settings)
    if recipe_file := recipe_files().get(name):
        if wanted:
            raise UserError(f"{name} is a recipe, which is printed without settings", "Edit the file that you write")
        return read_small_text(recipe_file, most=MOST_BYTES)
    if not exists(name) and (near := nearest(name, list(recipe_files()))):
        raise UserError(f"there is no file and no recipe '{name}'", f"{near}`finetune ls` lists the recipes")
    recipe, task = starting_recipe(name, wanted, checkpoint=checkpoint_of(wanted, Path(out)))
    for finding in data_findings(task, [name, *typed_settings(wanted)]):
        here().tell(NoteLine(finding.note))
    return commented(recipe, task)


def as_json(recipe: str) -> Iterator[Mapping[str, str]]:
    """`recipe`: the TOML as a text."""
    yield {"recipe": recipe}


def shown(recipe: str) -> Iterator[Part]:
    """The recipe."""
    yield recipe.removesuffix("\n")
