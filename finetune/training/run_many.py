"""Runs several recipes in sequence; a failed run does not stop the rest."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

from finetune.data.messages import noun
from finetune.data.source import Source
from finetune.errors import UserError, first_line
from finetune.inference.engine import Diverged
from finetune.models.device import is_out_of_memory
from finetune.runs.events import Ended, Note, Watcher
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.seeds import SEEDS
from finetune.training.checkpoints import EVERY_FEW_MINUTES, Saving
from finetune.training.run import run
from finetune.training.targets import Planned
from finetune.training.trainer import Paused

EARLY = 0.25  # share of the epochs after which the worse half is discarded (Dodge et al. 2020, section 5: 20 to 30 %)


def run_all(
    runs: Sequence[Planned],
    *,
    source: Source,
    out: Path,
    watch: Watcher,
    device: str | None,
    force: bool,
    wait: bool = True,
    saving: Saving = EVERY_FEW_MINUTES,
    discard: bool = False,
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of finished runs, and the errors of failed ones.

    With `discard`, all runs are trained for a quarter of their epochs first, and only the better half of each task's
    settings is resumed, with all seeds. The others keep their checkpoints and resume if run again without `discard`.
    """

    def started(one: Planned, **others: Any) -> RunRecord:
        tasks = (one.default, one.task)
        return run(
            one.recipe, tasks=tasks, source=source, out=out, watch=watch, device=device, force=force, wait=wait,
            saving=saving, **others,
        )  # fmt: skip

    failures: list[UserError] = []
    if discard:
        runs = _better_half(runs, started, watch, failures)
    records = [_tried(one.name, partial(started, one), len(runs), watch, failures) for one in runs]
    return [record for record in records if isinstance(record, RunRecord)], failures


def _better_half(
    runs: Sequence[Planned], started: Callable[..., RunRecord], watch: Watcher, failures: list[UserError]
) -> list[Planned]:
    """The runs of the settings that score best early, in order; of an odd number, the larger half.

    Raises UserError if a task has only one setting: keeping its better seeds would inflate the mean.
    """
    if any(one.recipe.train.epochs < 2 for one in runs):
        raise UserError("`discard_half` needs runs of several epochs", "Raise train.epochs, or leave it out")
    settings: dict[str, set[str]] = {}
    for one in runs:
        settings.setdefault(one.recipe.task, set()).add(_setting(one.recipe))
    if alone := [task for task, some in settings.items() if len(some) < 2]:
        raise UserError(f"`discard_half` chooses among settings, and {alone[0]} has one", "Leave it out")
    ranks: dict[str, list[float]] = {}
    for one in runs:
        pause = ceil(EARLY * one.recipe.train.epochs)
        found = _tried(one.name, partial(started, one, pause_after=pause), len(runs), watch, failures)
        if isinstance(found, RunRecord):  # already done: its early score is in the record
            found = found.epochs[min(pause, len(found.epochs)) - 1]["headline"]
        if found is not None:
            ranks.setdefault(_setting(one.recipe), []).append(one.task.metrics[0].rank(found))
    if any(not isinstance(failure, Diverged) for failure in failures):
        watch(Note("some settings could not be tried, so none is chosen: the same command tries them again"))
        return []
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
    return [one for one in runs if _setting(one.recipe) in kept]


def _setting(recipe: Recipe) -> str:
    """A key that is equal for recipes that differ only in their seeds."""
    return recipe.model_dump_json(exclude=set(SEEDS))


def _tried(
    name: str, one: Callable[[], RunRecord], count: int, watch: Watcher, failures: list[UserError]
) -> RunRecord | float | None:
    """The record, or the score so far of a paused run; None for a failed one, whose error is added to `failures`."""
    try:
        return one()
    except Paused as paused:
        return paused.headline
    except (UserError, OSError, RuntimeError) as error:
        failure = _failure(error, name if count > 1 else "")
        if failure is None:
            raise
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise  # the other processes would wait for this one forever
        failures.append(failure)
        return None
    finally:
        watch(Ended())


def _failure(error: Exception, name: str) -> UserError | None:
    """An exception as UserError; `name` is the recipe's, if there are several runs. None for a fault of the code."""
    prefix = f"{name}: " if name else ""
    if isinstance(error, UserError):
        return type(error)(f"{prefix}{error.what}", error.way_out)
    if isinstance(error, OSError):
        return UserError(f"{prefix}{error}", "Free space, or choose another folder with `out`")
    if isinstance(error, RuntimeError) and is_out_of_memory(error):
        return UserError(f"{prefix}out of memory", "Lower train.batch_size or max_length, or raise train.accumulation")
    if "deterministic" in str(error):
        return UserError(f"{prefix}{first_line(error)}", "Leave deterministic = true out, or train on the CPU")
    return None
