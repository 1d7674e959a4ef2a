"""Resolves a TARGET: an existing path is data or a recipe file, anything else the name of a recipe or of a task."""

import fnmatch
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from finetune.data.messages import short
from finetune.data.paths import exists, is_data, is_file, is_pattern, is_remote, require_here
from finetune.errors import UserError, nearest
from finetune.runs.lookup import near_files
from finetune.runs.recipe import Recipe
from finetune.runs.resolve import (
    expand,
    full_name,
    load_recipe,
    parse,
    require_different,
    require_set_once,
    set_by,
    with_settings,
)
from finetune.runs.settings import RECIPES, flat, override_value, read_toml, recipe_files, typed_settings
from finetune.task_types import registry
from finetune.task_types.declared import metric_names
from finetune.task_types.options import data_options, option_names
from finetune.task_types.resolved_run import ResolvedRun, resolved_run
from finetune.task_types.task import Task

GRID = "grid."  # begins the settings of a grid
PRESET = "preset"  # the setting that names a preset


def find_recipes(target: str) -> list[Path]:
    """The recipe files that a target names. Raises UserError with the nearest names where there is none."""
    path = Path(target)
    require_here(target)
    if is_data(target):
        raise UserError(f"{target} is data, not a recipe", f"`finetune init {target}` prints a recipe for it")
    if is_file(path):
        return [path]
    named = recipe_files()
    files = [file for name, file in named.items() if fnmatch.fnmatchcase(name, target)]
    if not files:
        near = nearest(target, [*near_files(target), *named, *metric_names()])
        raise UserError(f"no recipe or file is called '{target}'", f"{near}`finetune ls` lists the recipes")
    return files


def expand_targets(
    names: list[str], settings: dict[str, Any], *, seeds: int = 1, shares: Sequence[float] = (), checkpoint: str = ""
) -> list[ResolvedRun]:
    """All runs of the targets, each for so many seeds and these shares of the training rows; data is read once.

    `checkpoint` is the encoder from which training began, where `model` in the settings is a run. Raises UserError for
    any wrong setting, before a run starts.
    """
    if not names:
        raise UserError("no recipe was named", "`finetune ls` lists them")
    planned: list[ResolvedRun] = []
    defaults: dict[str, Task] = {}
    for name in names:
        for origin, loaded in _loaded(name, settings, defaults, checkpoint):
            target = name if name == origin or is_file(Path(name)) else Path(origin).stem
            for single in expand(loaded, seeds=seeds, shares=shares, origin=origin, options=option_names):
                typed = () if loaded.grid else (target, *_changed(settings, loaded, single))
                planned.append(replace(_resolved(origin, single, defaults), typed=typed))
    require_different([run.recipe for run in planned])
    return planned


def load_target(target: str, settings: dict[str, Any], *, checkpoint: str = "") -> ResolvedRun:
    """The single recipe of a target with these settings, and its task; its grid is not expanded.

    `checkpoint` is as for `expand_targets`. Raises UserError for a target of several recipes.
    """
    defaults: dict[str, Task] = {}
    (origin, loaded), *others = _loaded(target, settings, defaults, checkpoint)
    if others:
        raise UserError(f"'{target}' names {len(others) + 1} recipes", "Name one")
    return _resolved(origin, loaded, defaults)


def _changed(settings: Mapping[str, Any], loaded: Recipe, single: Recipe) -> Sequence[str]:
    """The settings of one run of a target, as one types them after it."""
    before, after = (flat(recipe.model_dump(exclude_unset=True)) for recipe in (loaded, single))
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return typed_settings({key: value for key, value in {**settings, **changed}.items() if value is not None})


def _resolved(origin: str, recipe: Recipe, defaults: dict[str, Task]) -> ResolvedRun:
    """A recipe with its task; `defaults` keeps tasks, whose data is read once."""
    key, name = _task_key(recipe), origin if is_pattern(origin) else Path(origin).stem
    resolved = resolved_run(recipe, name=name, default=defaults.get(key))
    defaults[key] = resolved.default
    return resolved


def _task_key(recipe: Recipe) -> str:
    return json.dumps([recipe.task, data_options(recipe.options)], sort_keys=True, default=str)


def _loaded(
    target: str, settings: dict[str, Any], defaults: dict[str, Task], checkpoint: str = ""
) -> Iterator[tuple[str, Recipe]]:
    """(origin, recipe with these settings) of a target: the user's data, recipes, or a task with the default settings.

    The task of the user's data is added to `defaults`. `preset=NAME` applies a file of recipes/presets, which other
    settings override.
    """
    if PRESET in settings:
        settings = _with_preset(settings)
    grid = {key.removeprefix(GRID): values for key, values in flat(settings).items() if key.startswith(GRID)}
    require_set_once(settings, set_by(grid), origin="settings")
    own_data, files = is_data(target), recipe_files()
    is_recipe = is_file(Path(target)) or any(fnmatch.fnmatchcase(name, target) for name in files)
    is_task = not own_data and (registry.in_file(target) or (not is_recipe and target in metric_names()))
    if (is_task or own_data) and (other := settings.get("task", target)) != target:
        raise UserError(f"{target} and task={other} name two tasks", "Name the one to train on, and leave out `task=`")
    if own_data:
        from finetune.task_types.starting_recipe import starting_recipe

        started, task = starting_recipe(target, settings, checkpoint=checkpoint)
        defaults[_task_key(started)] = task
        yield target, started
    elif is_task:
        if recipes := [name for name, file in files.items() if read_toml(file).get("task") == target]:
            commands = ", ".join(f"`finetune run {name}`" for name in recipes)
            raise UserError(f"'{target}' is a task, whose recipes have other names", f"Run one: {commands}")
        plain = parse({"task": target}, origin=target)
        yield target, with_settings(plain, settings, origin="settings", options=option_names)
    for file in () if own_data or is_task else find_recipes(target):
        loaded = load_recipe(file, options=option_names)
        set_there = loaded.model_dump(exclude_unset=True, exclude={"task", "grid"})
        require_set_once(set_there, map(full_name, loaded.grid), origin=str(file))  # variants may replace it
        require_set_once(settings, set_by(loaded.grid), origin=str(file))
        if settings.get("task", loaded.task) != loaded.task:  # options belong to one task
            loaded = loaded.model_copy(update={"options": {}})
        yield str(file), with_settings(loaded, settings, origin="settings", options=option_names)


def files_of(kind: Literal["presets", "spaces"]) -> dict[str, Path]:
    """The built-in presets, or spaces of searches, by name."""
    return {file.stem: file for file in sorted((RECIPES / kind).glob("*.toml"))}


def _with_preset(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of the preset that is named, overridden by all others."""
    name, others = str(settings[PRESET]), {key: value for key, value in settings.items() if key != PRESET}
    presets = files_of("presets")
    if name not in presets:
        remedy = f"{nearest(name, list(presets))}There are {', '.join(presets)}"
        raise UserError(f"no preset is called {short(name)}", remedy)
    table, typed = read_toml(presets[name]), {full_name(key) for key in (*others, *flat(others))}
    grid = {f"{GRID}{key}": flat_grid for key, flat_grid in flat(table.pop("grid", {})).items()}
    grid = {key: values for key, values in grid.items() if full_name(key.removeprefix(GRID)) not in typed}
    return flat(table) | grid | others


def split_arguments(arguments: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Targets, and the settings given as `key=value`."""
    settings: dict[str, Any] = {}
    targets = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if equals and not (exists(argument) or is_remote(key)):
            settings[key] = override_value(key, value)
        else:
            targets.append(argument)
    return targets, settings
