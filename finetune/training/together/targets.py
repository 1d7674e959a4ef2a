"""`finetune run A B --together`: the recipes or data of several targets as one recipe of several tasks."""

from collections.abc import Sequence
from typing import Any

from finetune.data.files import is_data
from finetune.errors import UserError, shown_value
from finetune.runs.recipe import FEWEST_TASKS, Recipe, parse
from finetune.runs.toml import flat, typed_value
from finetune.task_types.resolved_run import ResolvedRun, require_mixable, resolved_together
from finetune.training.targets import expand_targets

OF_A_TASK = ("task", "options", "max_length")  # keys of an entry of `together.tasks`
MIXING = "together."  # begins the settings of how tasks are mixed
DIFFERENCES_SHOWN = 4  # settings that differ, in a message


def expand_together(
    names: list[str], settings: dict[str, Any], *, seeds: int = 1, shares: Sequence[float] = (), checkpoint: str = ""
) -> list[ResolvedRun]:
    """A run of all targets for each seed and share of the training rows; `settings` hold for every target.

    What tasks share is as the recipe files set it, or where all are data, as that of the first is. Raises UserError
    where two files set it differently, for a single target, and as `expand_targets` and `resolved_together` do.
    """
    mixing = {key: value for key, value in settings.items() if key.startswith(MIXING)}
    alone = {key: value for key, value in settings.items() if key not in mixing}
    given = {"seeds": seeds, "shares": shares, "checkpoint": checkpoint}
    found = [(is_data(name), expand_targets([name], alone, **given)) for name in names]  # type: ignore[arg-type]
    if sum(len({one.task.name for one in runs}) for _, runs in found) < FEWEST_TASKS:
        raise UserError(
            f"`together` with {', '.join(names) or 'no target'}: it is for several tasks",
            "Name several recipes or data files, such as glue-mrpc glue-stsb",
        )
    if several := next((one for _, runs in found for one in runs if one.members), None):
        raise UserError(f"{several.name} is of several tasks already", "Run it without `together`, or name its tasks")
    first = next((runs[0] for own, runs in found if not own), found[0][1][0])
    require_mixable([one.task for _, runs in found for one in runs if one.recipe.seed == runs[0].recipe.seed])
    files = [one for own, runs in found if not own for one in runs]
    _require_agreement([one for one in files if one.recipe.seed == first.recipe.seed])
    by_point: dict[tuple[int, float], list[ResolvedRun]] = {}
    for _, runs in found:
        for one in runs:
            by_point.setdefault((one.recipe.seed, one.recipe.train_share), []).append(one)
    return [_together(point, first.recipe, members, mixing) for point, members in by_point.items()]


def _together(
    point: tuple[int, float], first: Recipe, members: Sequence[ResolvedRun], mixing: dict[str, Any]
) -> ResolvedRun:
    """One run of these tasks, with what the `first` recipe sets for all."""
    seed, share = point
    shared = first.model_dump(exclude_unset=True, exclude={*OF_A_TASK, "grid", "together", "seed", "train_share"})
    tasks = [
        {
            "task": one.recipe.task,
            "max_length": one.recipe.max_length,
            **({"options": dict(one.recipe.options)} if one.recipe.options else {}),
        }
        for one in members
    ]
    own = {
        "seed": seed,
        "max_length": members[0].recipe.max_length,
        **({"train_share": share} if share < 1 else {}),
        "together": {"tasks": tasks},
    }
    recipe = parse(shared | own, origin="together").with_settings(mixing, origin="settings")
    return resolved_together(recipe, members, name="+".join(dict.fromkeys(one.name for one in members)))


def _require_agreement(runs: Sequence[ResolvedRun]) -> None:
    """Raises UserError where the files of two recipes set what tasks share differently."""
    if not runs:
        return
    tables = [flat(one.recipe.model_dump(exclude={*OF_A_TASK, "grid"})) for one in runs]
    keys = list(dict.fromkeys(key for table in tables for key in table))
    for other, table in zip(runs[1:], tables[1:], strict=True):
        differ = {key: (tables[0].get(key), table.get(key)) for key in keys if tables[0].get(key) != table.get(key)}
        if differ:
            words = [f"{key} ({shown_value(a)}, {shown_value(b)})" for key, (a, b) in differ.items()]
            once = [f"{key}={typed_value(key, b if a is None else a)}" for key, (a, b) in differ.items()]
            shown = ", ".join(words[:DIFFERENCES_SHOWN])
            raise UserError(
                f"{runs[0].name} and {other.name} differ in {shown}, which tasks together share",
                f"Give one value for all: {' '.join(once)}",
            )
