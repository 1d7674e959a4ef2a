"""Runs several recipes; a failed run does not stop the rest."""

from collections.abc import Sequence
from math import ceil
from statistics import fmean

from finetune.data.messages import noun
from finetune.errors import UserError
from finetune.inference.engine import Diverged
from finetune.runs.events import Note, Watcher
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.seeds import SEEDS
from finetune.training.executors.job import Executor, Job, RunOptions
from finetune.training.targets import Planned

EARLY = 0.25  # share of the epochs after which the worse half is discarded (Dodge et al. 2020, section 5: 20 to 30 %)


def run_all(
    runs: Sequence[Planned],
    options: RunOptions,
    *,
    watch: Watcher,
    executor: Executor,
    discard: bool = False,
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of finished runs, and the errors of failed ones, each in the order of the runs.

    With `discard`, all runs are trained for a quarter of their epochs first, and only the better half of each task's
    settings is resumed, with all seeds. The others keep their checkpoints and resume if run again without `discard`.
    """
    failures: list[UserError] = []
    if discard:
        runs, failures = _better_half(runs, options, watch, executor)
    jobs = [Job(planned=one, options=options, named=len(runs) > 1) for one in runs]
    found = executor.outcomes(jobs, watch)
    failures += [one for one in found if isinstance(one, UserError)]
    return [one for one in found if isinstance(one, RunRecord)], failures


def _better_half(
    runs: Sequence[Planned], options: RunOptions, watch: Watcher, executor: Executor
) -> tuple[list[Planned], list[UserError]]:
    """The runs of the settings that score best early, in order, of an odd number the larger half; and the failures.

    Raises UserError if a task has only one setting: keeping its better seeds would inflate the mean.
    """
    settings = _settings_of_tasks(runs)
    jobs = [Job(planned=one, options=options, pause_after=_early(one.recipe), named=len(runs) > 1) for one in runs]
    ranks: dict[str, list[float]] = {}
    failures: list[UserError] = []
    for one, found in zip(runs, executor.outcomes(jobs, watch), strict=True):
        if isinstance(found, UserError):
            failures.append(found)
            continue
        if isinstance(found, RunRecord):  # already done: its early score is in the record
            found = found.epochs[min(_early(one.recipe), len(found.epochs)) - 1]["headline"]
        ranks.setdefault(_setting(one.recipe), []).append(one.task.metrics[0].rank(found))
    if any(not isinstance(failure, Diverged) for failure in failures):
        watch(Note("some settings could not be tried, so none is chosen: the same command tries them again"))
        return [], failures
    kept: set[str] = set()
    for task, some in settings.items():
        order = sorted((each for each in some if each in ranks), key=lambda each: -fmean(ranks[each]))
        kept.update(order[: ceil(len(some) / 2)])
        watch(
            Note(
                f"{task}: {len(kept & some)} of {len(some)} settings {noun(len(kept & some), 'is', 'are')} resumed, "
                "the best after the early epochs"
            )
        )
    return [one for one in runs if _setting(one.recipe) in kept], failures


def _settings_of_tasks(runs: Sequence[Planned]) -> dict[str, set[str]]:
    """The settings of each task. Raises UserError for a task with one, and for runs of one epoch."""
    if any(one.recipe.train.epochs < 2 for one in runs):
        raise UserError("`discard_half` needs runs of several epochs", "Raise train.epochs, or leave it out")
    settings: dict[str, set[str]] = {}
    for one in runs:
        settings.setdefault(one.recipe.task, set()).add(_setting(one.recipe))
    if alone := [task for task, some in settings.items() if len(some) < 2]:
        raise UserError(f"`discard_half` chooses among settings, and {alone[0]} has one", "Leave it out")
    return settings


def _early(recipe: Recipe) -> int:
    """The epoch after which a setting is compared with the others."""
    return ceil(EARLY * recipe.train.epochs)


def _setting(recipe: Recipe) -> str:
    """A key that is equal for recipes that differ only in their seeds."""
    return recipe.model_dump_json(exclude=set(SEEDS))
