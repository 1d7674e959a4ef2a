"""What `model=` names besides an encoder: a run, whose encoder is taken, or a recipe, which is run first.

The name of a recipe may be followed by settings of it, as in a command: `model = "pretrain objective=ltr"`.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.data.paths import is_file
from finetune.errors import UserError
from finetune.runs import recipe
from finetune.runs.lookup import first_checkpoint
from finetune.task_types.options import option_names
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.named_runs import MODEL, has_model, meant_run, with_named
from finetune.training.targets import expand_targets, find_recipes, recipe_files, split_arguments


class NotTheRecipe(UserWarning):
    """A model's name is that of a folder with a model and of a recipe too."""


def with_first_runs(planned: Sequence[ResolvedRun], out: Path) -> list[ResolvedRun]:
    """The runs, each with the run of the recipe that its `model` names, for the same seed, as `first`; the name of a
    finished run under `out` becomes its folder.

    Raises UserError for a run that is not finished or has no model, for a recipe of several runs or whose model is
    itself, and for a teacher that does not fit.
    """
    made: dict[tuple[str, int], ResolvedRun] = {}
    planned = list(planned)
    if any(one.recipe.distil.given for one in planned):
        from finetune.training.distil.teachers import with_teachers

        planned = [with_teachers(one, out) for one in planned]
    return [_with_first(one, out, (), made) for one in planned]


def checkpoint_of(settings: Mapping[str, Any], out: Path) -> str:
    """The initial encoder of the model that these settings name; empty where they name none."""
    name, seen = str(settings.get("model", "")), set[Path]()
    while (named := recipe_named(name)) is not None:
        if named.file in seen:  # with_first_runs refuses it
            return ""
        seen.add(named.file)
        name = str(named.settings.get("model", recipe.load_recipe(named.file, options=option_names).model))
    run = meant_run(name, MODEL, out)[0] if name else None
    return name if run is None else first_checkpoint(run)


def with_run(settings: dict[str, Any], out: Path) -> dict[str, Any]:
    """The settings, with the encoder from which their model begins in place of the name of a recipe, and the folder of
    a run in place of other names of it: for what needs its vocabulary alone.
    """
    if not (name := str(settings.get("model") or "")):
        return settings
    run = meant_run(name, MODEL, out)[0] if recipe_named(name) is None else None
    return settings | {"model": checkpoint_of(settings, out) if run is None else str(run.path)}


def with_parents(planned: Sequence[ResolvedRun]) -> list[ResolvedRun]:
    """The runs with those that they start from, each once and after those that it starts from."""
    found: dict[int, ResolvedRun] = {}
    for one in planned:
        found |= {id(each): each for each in [*one.before, one]}
    return list(found.values())


@dataclass(frozen=True, kw_only=True)
class NamedRecipe:
    """A recipe that is a model: its file, and the settings that the name gives it."""

    file: Path
    settings: dict[str, Any]


def recipe_named(model: str) -> NamedRecipe | None:
    """The recipe, and settings after it, that a model's name means; None for any other name.

    A folder with a model is not taken for a recipe, with a warning. Raises UserError for a .toml file that is not
    there, and for words after a recipe that are not settings.
    """
    if (file := _recipe_file(model)) is not None:
        return NamedRecipe(file=file, settings={})
    name, *words = model.split() or [""]
    if not words or (file := _recipe_file(name)) is None:
        return None
    others, settings = split_arguments(words)
    if others or "seed" in settings:
        wrong, why = (others[0], "is not a setting") if others else ("seed", "is that of the run that starts from it")
        raise UserError(f"model={model}: '{wrong}' {why}", f"Give settings as in a command: {name} train.updates=500")
    return NamedRecipe(file=file, settings=settings)


def _recipe_file(name: str) -> Path | None:
    named = recipe_files().get(name)
    if named is None and not name.endswith(".toml"):
        return None
    if has_model(name):
        warnings.warn(f"model={name} is the folder with a model, not the recipe", NotTheRecipe, stacklevel=3)
        return None
    return named if named is not None and not is_file(name) else find_recipes(name)[0].resolve()


def _with_first(
    one: ResolvedRun, out: Path, chain: tuple[Path, ...], made: dict[tuple[str, int], ResolvedRun]
) -> ResolvedRun:
    name, seed = one.recipe.model, one.recipe.seed
    named = recipe_named(name)
    if named is None:
        run, note = meant_run(name, MODEL, out, one)
        if run is None:
            return one
        recipe = one.recipe.model_copy(update={"model": str(run.path)})
        return replace(with_named(one, MODEL, name, run, note), recipe=recipe)
    if one.recipe.tokenizer:
        raise UserError(
            f"tokenizer={one.recipe.tokenizer} with model={name}, whose encoder has its own vocabulary",
            f'Leave it out, or give it to that recipe: model="{name} tokenizer={one.recipe.tokenizer}"',
        )
    file = named.file
    if file in chain:
        raise UserError(
            f"{file}: its model is {' -> '.join(step.name for step in (*chain[chain.index(file) :], file))}, itself",
            "Name an encoder as the model of one of them",
        )
    if (name, seed) not in made:
        made[name, seed] = _with_first(_single(named, seed), out, (*chain, file), made)
    return replace(one, first=made[name, seed])


def _single(named: NamedRecipe, seed: int) -> ResolvedRun:
    """The one run of a recipe with this seed. Raises UserError for one with a grid of several."""
    found = expand_targets([str(named.file)], {**named.settings, "seed": seed})
    if len(found) > 1:
        raise UserError(
            f"{named.file}: is to be a model, and its [grid] makes {len(found)} runs of a seed",
            "Name a recipe of one run, or run it and name one of its runs",
        )
    return found[0]
