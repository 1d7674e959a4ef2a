"""What a search is about, before anything is trained: its recipe, and the space of settings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.checks.refusal import require_sound_data
from finetune.commands.search.space import Choices, Space, parse_space
from finetune.data.paths import is_file
from finetune.errors import UserError, nearest
from finetune.runs.lookup import near_files
from finetune.runs.toml import read_toml
from finetune.task_types.options import configured
from finetune.task_types.own_data import OPTIONS
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import checkpoint_of, with_first_runs
from finetune.training.targets import PRESET, load_target, space_files

GivenSpace = str | Path | Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """A recipe without a grid, its space, and the command that runs the recipe."""

    base: ResolvedRun
    space: Space
    command: str


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
    found = parse_space(table, base.recipe, options=options, origin=origin)
    if both := [key for key in found if key in settings]:
        raise UserError(f"{origin}: {both[0]} is searched, and set too", "Leave one of them out")
    _require_options(base, found)
    given = [f"{key}={_plain(value)}" for key, value in settings.items() if key != PRESET]
    return SearchPlan(base=base, space=found, command=" ".join(["finetune run", target, *given]))


def _table(space: GivenSpace, base: ResolvedRun) -> tuple[Mapping[str, Any], str]:
    """The table of a space, and what to call it."""
    if isinstance(space, Mapping):
        return space, "space"
    ready = space_files()
    name = _usual(base) if space is None else str(space)
    if is_file(Path(name)):
        return read_toml(Path(name)), name
    if name not in ready:
        near = nearest(name, [*near_files(name), *ready])
        raise UserError(f"no space or file is called '{name}'", f"{near}There are {', '.join(ready)}")
    if base.recipe.train.updates is not None:
        what = f"the space '{name}' has epochs to choose from, and the length of {base.recipe.task} is in updates"
        raise UserError(what, 'Give your space, such as a file with: "train.learning_rate" = [1e-4, 1e-3]')
    return read_toml(ready[name]), name


def _usual(base: ResolvedRun) -> str:
    """The ready space for a recipe."""
    return "frozen" if base.recipe.frozen else "lora" if base.recipe.lora else "fine-tuning"


def _require_options(base: ResolvedRun, space: Space) -> None:
    """Raises UserError for a value that an option of the task does not allow."""
    for key, axis in space.items():
        section, _, name = key.partition(".")
        if section == "options":
            values = axis.values if isinstance(axis, Choices) else (axis.low, axis.high)
            for value in values:
                configured(base.task, {name: value})


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
