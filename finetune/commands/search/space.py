"""What a search tries: a recipe without a grid, and a range or a list of values for each setting."""

import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.checks.all_checks import with_findings
from finetune.data.paths import is_file
from finetune.errors import UserError, nearest, shown_value
from finetune.runs.lookup import near_files
from finetune.runs.recipe import setting_fields
from finetune.runs.resolve import VARIANT, with_settings
from finetune.runs.settings import SEEDS, read_toml
from finetune.task_types.columns import OPTIONS
from finetune.task_types.options import option_names, task_options
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import checkpoint_of, with_first_runs
from finetune.training.targets import files_of, load_target

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

BOUNDS = {"low", "high", "log", "step"}
FIXED = {  # not searched
    "task", "grid", VARIANT, f"options.{VARIANT}", *SEEDS, "held_out.share", "held_out.seed", "distil.teacher",
    *(f"options.{name}" for name in OPTIONS),
}  # fmt: skip
WRITE_RANGE = "Write { low = 1e-5, high = 1e-3, log = true } or a list of values"

GivenSpace = str | Path | Mapping[str, Any] | None
Space = Mapping[str, "BaseDistribution"]  # by dotted keys; a value of a list is JSON, since Optuna has no lists


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
    (base,) = with_findings([base])
    base = replace(base, recipe=base.recipe.model_copy(update={"grid": {}}))
    table, origin = (grid, f"{target} [grid]") if grid else _table(space, base)
    dimensions = parse_space(table, base, origin=origin)
    if both := [key for key in dimensions if key in settings]:
        raise UserError(f"{origin}: {both[0]} is searched, and set too", "Leave one of them out")
    return SearchPlan(base=base, space=dimensions)


def _table(space: GivenSpace, base: ResolvedRun) -> tuple[Mapping[str, Any], str]:
    """The table of a space, and its name for messages."""
    if isinstance(space, Mapping):
        return space, "space"
    usual = "frozen" if base.recipe.frozen else "lora" if base.recipe.lora else "fine-tuning"
    ready, name = files_of("spaces"), usual if space is None else str(space)
    if is_file(Path(name)):
        return read_toml(Path(name)), name
    if name not in ready:
        near = nearest(name, [*near_files(name), *ready])
        raise UserError(f"no space or file is called '{name}'", f"{near}There are {', '.join(ready)}")
    return read_toml(ready[name]), name


def parse_space(table: Mapping[str, Any], base: ResolvedRun, *, origin: str) -> Space:
    """The dimensions by dotted keys, checked against the recipe of `base` and its task.

    Raises UserError for an unknown key, a value that the setting does not allow, and a dimension without a value.
    """
    options = task_options(base.task)
    values = {f"options.{key}" * (key in options) or key: value for key, value in _values_by_key(table)}
    if not values:
        raise UserError(f"{origin}: the space has no settings", f"{WRITE_RANGE} for each setting to search")
    if "train.epochs" in values and base.recipe.train.updates:
        what = f"{origin}: searches train.epochs, and {base.name} is trained in updates"
        raise UserError(what, "Write a space of its own, such as train.learning_rate = [1e-4, 3e-4]")
    ends: dict[str, list[Any]] = {}
    for key, dimension in values.items():
        if key in FIXED:
            raise UserError(f"{origin}: '{key}' cannot be searched", "Remove it")
        match dimension:
            case {"low": low, "high": high, **others} if others.keys() <= BOUNDS:
                ends[key] = [low, high]
            case [_, *_]:
                ends[key] = dimension
            case _:
                what = f"{shown_value(dimension)}, neither a range (low and high; log, step) nor a list"
                raise UserError(f"{origin}: {key} is {what}", WRITE_RANGE)
    for number in range(max(map(len, ends.values()))):
        point = {key: several[: number + 1][-1] for key, several in ends.items()}
        for key, value in point.items():
            try:
                with_point(base, {key: value}, origin=origin)
            except UserError:  # it may need another setting
                with_point(base, point, origin=origin)
    return {key: _distribution(key, dimension, origin) for key, dimension in values.items()}


def with_point(base: ResolvedRun, settings: Mapping[str, Any], *, origin: str) -> ResolvedRun:
    """A run with these settings, which have dotted keys. Raises UserError for what the recipe or its task refuses."""
    return base.with_recipe(with_settings(base.recipe, settings, origin=origin, options=option_names))


def _values_by_key(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, dimension): a table is a section, unless it has a bound or its key is a setting."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        section = isinstance(value, dict) and not set(value) & BOUNDS and name not in setting_fields()
        if section or name == "options":
            yield from _values_by_key(value, f"{name}.")
        else:
            yield name, value


def _distribution(key: str, dimension: Any, origin: str) -> "BaseDistribution":
    kinds, setting = optuna_package().distributions, setting_fields().get(key)
    arguments, kind = dimension, kinds.FloatDistribution
    if isinstance(dimension, list):
        arguments, kind = {"choices": [*dict.fromkeys(map(json.dumps, dimension))]}, kinds.CategoricalDistribution
    elif (
        re.search(r"\bint\b", str(setting.annotation))
        if setting
        else isinstance(dimension["low"], int) and isinstance(dimension["high"], int)
    ):
        kind = kinds.IntDistribution
    try:
        with warnings.catch_warnings(action="ignore"):  # that a range ends before its last step
            return kind(**arguments)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise UserError(f"{origin}: {key} cannot be drawn: {error}", WRITE_RANGE) from error


def count_points(space: Space) -> float:
    """The number of points of a space."""
    sizes: list[float] = []
    for bounds in map(vars, space.values()):
        if "choices" in bounds:
            sizes.append(len(bounds["choices"]))
        else:
            width = bounds["high"] - bounds["low"]
            sizes.append(1 + math.floor(width / bounds["step"] + 1e-9) if bounds["step"] else math.inf if width else 1)
    return math.prod(sizes)


def settings_at(space: Space, point: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a point; numbers have four digits, which are shown and written."""
    settings = {}
    for key, bounds in ((key, vars(dimension)) for key, dimension in space.items()):
        settings[key] = json.loads(point[key]) if "choices" in bounds else point[key]
        if "choices" not in bounds and bounds["step"] is None:
            settings[key] = min(max(float(f"{point[key]:.4g}"), bounds["low"]), bounds["high"])
    return settings


def optuna_package() -> Any:
    """Optuna, without its messages. Raises UserError where it is not installed."""
    try:
        import optuna
    except ImportError as error:
        raise UserError(
            "a search needs a package that is not installed (optuna)", "pip install 'bert-finetune[search]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna
