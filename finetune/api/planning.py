"""From recipes or data to finished runs: what `finetune run` and `finetune.train` both call."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.checks.refusal import require_sound_data
from finetune.data.messages import noun
from finetune.errors import UserError, nearest
from finetune.runs.events import Watcher
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import checkpoint_of, with_first_runs
from finetune.training.run_options import RunOptions
from finetune.training.targets import expand_targets

if TYPE_CHECKING:
    from finetune.training.executors.job import Executor


def plan(
    targets: Sequence[str],
    settings: Mapping[str, Any],
    *,
    seeds: int = 1,
    shares: Sequence[float] = (),
    out: Path = Path("results"),
) -> list[ResolvedRun]:
    """The runs of recipes or data with these settings (dotted keys), after the checks of the data.

    With `shares` of the training rows, each is run with each share. A model may be a run under `out`, or a recipe.

    Raises UserError for a wrong setting, for data that cannot be read, and for data with an error, and Ambiguous where
    its columns could be read in two ways.
    """
    if seeds < 1:
        raise UserError(f"seeds is {seeds}", "Give the number of runs, at least 1")
    if settings.get("distil.teacher") == "":  # which a variable of a shell may be
        raise UserError("distil.teacher is empty", "Name a run, or leave it out")
    checkpoint = checkpoint_of(settings, out)
    planned = expand_targets(list(targets), dict(settings), seeds=seeds, shares=shares, checkpoint=checkpoint)
    require_sound_data([one.task for one in planned])
    return with_first_runs(planned, out)


EXECUTORS = ("ray", "slurm")


def executor_of(name: str | None, **settings: Any) -> "Executor | None":
    """Where several runs are trained: as tasks of `ray` or jobs of `slurm`; None: one after the other in this process.

    `settings` are those of `OnRay` or `OnSlurm`; None is their default. Needs torch where there is a name. It needs no
    plan: call it first, since reading data takes a while. Raises UserError for another name, for a setting that the
    executor lacks or whose value is out of range, and for settings without an executor.
    """
    given = {key: value for key, value in settings.items() if value is not None}
    if name is None:
        if given:
            names = ", ".join(f"`{key}`" for key in given)
            for_several = f"{names} {noun(len(given), 'is', 'are')} for runs that are trained at once"
            raise UserError(for_several, "Add `on`, or leave it out")
        return None
    if name not in EXECUTORS:
        raise UserError(f"`on` is '{name}'", f"{nearest(name, list(EXECUTORS))}Give {' or '.join(EXECUTORS)}")
    from finetune.training.executors.on_ray import OnRay
    from finetune.training.executors.on_slurm import OnSlurm

    kind = OnRay if name == "ray" else OnSlurm
    if other := sorted(given.keys() - {field.name for field in fields(kind)}):
        raise UserError(f"{name} has no {', '.join(f'`{key}`' for key in other)}", "Leave it out")
    return kind(**given)


def execute(
    planned: Sequence[ResolvedRun], options: RunOptions, *, watch: Watcher, executor: "Executor | None" = None
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of the finished runs, and the errors of those that failed; see `run_all`. Needs torch."""
    from finetune.training.executors.job import InSequence
    from finetune.training.run_many import run_all

    return run_all(planned, options, watch=watch, executor=executor or InSequence())
