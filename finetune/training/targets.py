"""What a TARGET on the command line means: what exists is data or a recipe, else it names a recipe."""

import fnmatch
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finetune.data.files import is_data
from finetune.errors import UserError, nearest
from finetune.runs import recipe
from finetune.runs.grid import expand, full_name, require_different, set_by
from finetune.runs.recipe import Recipe, flat
from finetune.task_types.options import option_names, resolved
from finetune.task_types.starting_recipe import starting_recipe

RECIPES = Path(__file__).parents[1] / "recipes"
PRESET = "preset"  # the setting that names a set of settings


def recipe_files() -> dict[str, Path]:
    """The package's recipes by name."""
    if not RECIPES.is_dir():
        raise UserError(
            f"{RECIPES} is not a folder: this checkout was made without symbolic links",
            "Clone again with `git -c core.symlinks=true clone`, or install the wheel",
        )
    return {file.stem: file for file in sorted(RECIPES.glob("*.toml"))}


def find_recipes(target: str) -> list[Path]:
    """The recipe files that a target names. Raises UserError with the nearest names where there is none."""
    path = Path(target)
    if is_data(target):
        raise UserError(f"{target} is data, not a recipe", f"`finetune init {target}` prints the recipe to run it by")
    if path.is_file():
        return [path]
    named = recipe_files()
    found = [file for name, file in named.items() if fnmatch.fnmatchcase(name, target)]
    if not found:
        raise UserError(
            f"no recipe or file is called '{target}'",
            f"{nearest(target, list(named))}`finetune ls` lists the recipes",
        )
    return found


def expand_targets(names: list[str], settings: dict[str, Any], *, seeds: int = 1) -> list[tuple[str, Recipe]]:
    """(name, recipe) of every single run, all settings checked before the first one starts."""
    if not names:
        raise UserError("no recipe was named", "`finetune ls` lists them")
    expanded = []
    for name in names:
        for origin, loaded in _loaded(name, settings):
            expanded += [
                (Path(origin).stem, single)
                for single in expand(loaded, seeds=seeds, origin=origin, options=option_names)
            ]
    for _, single in expanded:
        if single.options:
            resolved(single.task, single.options)
    require_different([single for _, single in expanded])
    return expanded


def _loaded(target: str, settings: dict[str, Any]) -> Iterator[tuple[str, Recipe]]:
    """(where it is from, recipe) of what a target names: data of one's own, or recipes; with settings replaced.

    `preset=NAME` among the settings stands for those of a file in recipes/presets; the others go before them.
    """
    if PRESET in settings:
        settings = _with_preset(settings)
    if is_data(target):
        yield target, starting_recipe(target, settings)[0]
        return
    for file in find_recipes(target):
        loaded = recipe.load(file, options=option_names)
        if both := sorted({full_name(key) for key in settings} & set(set_by(loaded.grid))):
            raise UserError(f"{file}: its [grid] also sets {', '.join(both)}", "Remove it there, or leave it out here")
        if settings.get("task", loaded.task) != loaded.task:  # whose options are its own
            loaded = loaded.model_copy(update={"options": {}})
        yield str(file), loaded.with_settings(settings, origin="command line", options=option_names)


def preset_files() -> dict[str, Path]:
    """The package's presets by name."""
    return {file.stem: file for file in sorted((RECIPES / "presets").glob("*.toml"))}


def _with_preset(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, and behind them those of the preset that they name."""
    name, own = settings[PRESET], {key: value for key, value in settings.items() if key != PRESET}
    known = preset_files()
    if name not in known:
        raise UserError(
            f"no preset is called '{name}'", f"{nearest(str(name), list(known))}There are {', '.join(known)}"
        )
    table = tomllib.loads(known[name].read_text(encoding="utf-8"))
    given = {full_name(key) for key in own}
    grid = {key: values for key, values in flat(table.pop("grid", {})).items() if full_name(key) not in given}
    return flat(table) | ({"grid": grid} if grid else {}) | own


def load_recipe(target: str, settings: dict[str, Any]) -> Recipe:
    """The one recipe that a target names, with settings replaced."""
    found = list(_loaded(target, settings))
    if len(found) > 1:
        raise UserError(f"'{target}' names {len(found)} recipes", "Name one")
    return found[0][1]


def split_arguments(arguments: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Targets, and the settings given as `key=value`."""
    settings: dict[str, Any] = {}
    targets = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if equals and not Path(argument).exists():
            settings[key] = recipe.override_value(value)
        else:
            targets.append(argument)
    return targets, settings
