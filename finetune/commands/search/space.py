"""What a search tries: a recipe without a grid, and a range or a list of values for each setting."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from finetune.checks.refusal import require_sound_data
from finetune.data.paths import is_file
from finetune.errors import NAME_CHARS, UserError, nearest, shown_value
from finetune.runs.grid import VARIANT, full_name
from finetune.runs.lineage import SEEDS
from finetune.runs.lookup import near_files
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_faults import setting_names
from finetune.runs.toml import read_toml
from finetune.task_types.options import configured
from finetune.task_types.own_data import OPTIONS
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import checkpoint_of, with_first_runs
from finetune.training.targets import load_target, space_files

BOUNDS = ("low", "high", "log", "step")
FIXED = (  # not searched
    "task", "grid", "options", *SEEDS, "held_out.share", "held_out.fold", "held_out.seed", "distil.teacher",
)  # fmt: skip
EXAMPLE = "Write { low = 1e-5, high = 1e-3, log = true } or a list of values"

GivenSpace = str | Path | Mapping[str, Any] | None
Dimension = list[Any] | dict[str, Any]  # the values of a setting, or a table of its BOUNDS
Space = Mapping[str, Dimension]  # by dotted keys


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """A recipe without a grid, and its space."""

    base: ResolvedRun
    space: Space


def plan_search(
    target: str, settings: Mapping[str, Any], space: GivenSpace = None, *, out: Path = Path("results")
) -> SearchPlan:
    """A search over a space: a table, a file, or the name of a ready one; default: the recipe's grid, else the ready
    one for the recipe.

    Raises UserError for a wrong recipe or space and for data with an error, and Ambiguous where its columns could be
    read in two ways.
    """
    named = load_target(target, dict(settings), checkpoint=checkpoint_of(settings, out))
    (base,) = with_first_runs([named], out)
    if base.first is not None:
        raise UserError(
            f"{target}: its model is the recipe {base.recipe.model}, and a search starts from an encoder",
            f"Run {base.recipe.model}, and give that run as the model",
        )
    grid = base.recipe.grid
    if grid and space is not None:
        raise UserError(f"{target} has a [grid], and a space is given too", "Leave one of them out")
    require_sound_data([base.task])
    base = replace(base, recipe=base.recipe.model_copy(update={"grid": {}}))
    table, origin = (grid, f"{target} [grid]") if grid else _table(space, base)
    options = [name for name in base.task.options if name not in OPTIONS]
    dimensions = parse_space(table, base.recipe, options=options, origin=origin)
    if both := [key for key in dimensions if key in settings]:
        raise UserError(f"{origin}: {both[0]} is searched, and set too", "Leave one of them out")
    for key, dimension in dimensions.items():
        if key.startswith("options."):
            for value in _ends(dimension):
                configured(base.task, {key.removeprefix("options."): value})  # raises for a value that it refuses
    return SearchPlan(base=base, space=dimensions)


def _table(space: GivenSpace, base: ResolvedRun) -> tuple[Mapping[str, Any], str]:
    """The table of a space, and its name for messages."""
    if isinstance(space, Mapping):
        return space, "space"
    usual = "frozen" if base.recipe.frozen else "lora" if base.recipe.lora else "fine-tuning"
    ready, name = space_files(), usual if space is None else str(space)
    if is_file(Path(name)):
        return read_toml(Path(name)), name
    if name not in ready:
        near = nearest(name, [*near_files(name), *ready])
        raise UserError(f"no space or file is called '{name}'", f"{near}There are {', '.join(ready)}")
    if base.recipe.train.updates is not None:
        what = f"the space '{name}' has epochs to choose from, and the length of {base.recipe.task} is in updates"
        raise UserError(what, 'Give your space, such as a file with: "train.learning_rate" = [1e-4, 1e-3]')
    return read_toml(ready[name]), name


def parse_space(table: Mapping[str, Any], recipe: Recipe, *, options: Sequence[str], origin: str) -> Space:
    """The dimensions by dotted keys, checked against the recipe; `options` are those of its task.

    Raises UserError for an unknown key, a value that the setting does not allow, and a dimension without a value.
    """
    space = {full_name(key): dimension for key, dimension in _walk(table)}
    if not space:
        raise UserError(f"{origin}: the space has no settings", f"{EXAMPLE} for each setting to search")
    for key in space:
        _require_known(key, options, origin)
    for key, dimension in space.items():
        _require_dimension(key, dimension, origin)
        for value in dimension if isinstance(dimension, list) else _ends(dimension):
            _require_allowed(key, value, space, recipe, origin)
    return {key: _without_repeats(one) if isinstance(one, list) else dict(one) for key, one in space.items()}


def points_of(space: Space) -> list[dict[str, Any]] | None:
    """All settings of a finite space, in the order of a grid; None where there are infinitely many."""
    values = [_values(key, dimension) for key, dimension in space.items()]
    if any(one is None for one in values):
        return None
    return [dict(zip(space, point, strict=True)) for point in itertools.product(*filter(None, values))]


def is_whole(key: str, dimension: Mapping[str, Any]) -> bool:
    """Whether a range has whole numbers only: as the setting does, and for an option of a task as its bounds do."""
    allowed = setting_names(Recipe).get(key)
    if allowed is None:
        return isinstance(dimension["low"], int) and isinstance(dimension["high"], int)
    return allowed.startswith("a whole number")


def _values(key: str, dimension: Dimension) -> list[Any] | None:
    """Every value of a dimension; None where there are infinitely many."""
    if isinstance(dimension, list):
        return dimension
    low, high = dimension["low"], dimension["high"]
    step = dimension.get("step") or (1 if is_whole(key, dimension) else None)
    if low == high or step is None:
        return [low] if low == high else None
    return [low + step * number for number in range(math.floor((high - low) / step + 1e-9) + 1)]


def _walk(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, dimension): a table is a section, unless it has a bound or its key is a setting."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        section = isinstance(value, dict) and not set(value) & set(BOUNDS) and name not in setting_names(Recipe)
        if section or name == "options":
            yield from _walk(value, f"{name}.")
        else:
            yield name, value


def _require_known(key: str, options: Sequence[str], origin: str) -> None:
    if key == f"options.{VARIANT}":
        raise UserError(f"{origin}: a search has no {VARIANT}", "List each setting with its values")
    names = [name for name in setting_names(Recipe) if name not in FIXED] + [f"options.{name}" for name in options]
    if key in names:
        return
    if key in FIXED:
        raise UserError(f"{origin}: '{key}' cannot be searched", "Remove it")
    short = {name.rsplit(".", 1)[-1]: name for name in names}
    last = key.removeprefix("options.")
    close = [last] if last in short else get_close_matches(last[:NAME_CHARS], short, n=1)
    hint = f"Did you mean '{short[close[0]]}'? " if close else nearest(last, names)
    raise UserError(f"{origin}: there is no setting '{last}'", f"{hint}`finetune show RECIPE` lists the settings")


def _require_dimension(key: str, dimension: Any, origin: str) -> None:
    """Raises UserError for what is neither a list with values nor a range from a low to a high number."""
    where = f"{origin}: {key}"
    if isinstance(dimension, list) and dimension:
        return
    if isinstance(dimension, list):
        raise UserError(f"{where} is an empty list", "Give it values, or remove the key")
    if not isinstance(dimension, dict):
        raise UserError(f"{where} is {shown_value(dimension)}, neither a range nor a list", EXAMPLE)
    if unknown := [name for name in dimension if name not in BOUNDS]:
        raise UserError(f"{where} has no '{unknown[0]}'", f"{nearest(unknown[0], list(BOUNDS))}{EXAMPLE}")
    if missing := [name for name in ("low", "high") if name not in dimension]:
        raise UserError(f"{where} has no {missing[0]}", EXAMPLE)
    if wrong := [
        dimension[name] for name in BOUNDS if name in dimension and name != "log" and not _is_number(dimension[name])
    ]:
        raise UserError(f"{where}: {shown_value(wrong[0])} is not a number", EXAMPLE)
    low, high, log, step = dimension["low"], dimension["high"], dimension.get("log", False), dimension.get("step")
    if not isinstance(log, bool):
        raise UserError(f"{where}: log is {shown_value(log)}", "Write log = true, or leave it out")
    if low > high:
        raise UserError(f"{where} is empty: low is {low} and high is {high}", "Exchange them")
    if log and low <= 0:
        raise UserError(f"{where}: low is {low}, which has no logarithm", "Give a low over 0, or leave log out")
    whole = is_whole(key, dimension)
    if step is not None and (step <= 0 or log or (whole and not isinstance(step, int))):
        why = "and log exclude each other" if log else f"is {step}, not {'a whole number ' * whole}over 0"
        raise UserError(f"{where}: step {why}", "Leave step out, or change it")


def _require_allowed(key: str, value: Any, space: Space, recipe: Recipe, origin: str) -> None:
    """Raises UserError for a value that is allowed neither alone nor with the first or the last values of others."""
    try:
        recipe.with_settings({key: value}, origin=origin)
    except UserError:
        for end in (0, -1):
            others = {name: _ends(dimension)[end] for name, dimension in space.items() if _ends(dimension)}
            try:
                recipe.with_settings({**others, key: value}, origin=origin)
            except UserError:
                continue
            return
        raise


def _ends(dimension: Any) -> list[Any]:
    """The values of a list, and the bounds of a range."""
    if isinstance(dimension, list):
        return dimension
    return [dimension[name] for name in ("low", "high") if name in dimension] if isinstance(dimension, dict) else []


def _without_repeats(values: list[Any]) -> list[Any]:
    return [value for index, value in enumerate(values) if value not in values[:index]]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
