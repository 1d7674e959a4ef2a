"""From recipes or data to finished runs: what `finetune run` and `finetune.train` both call."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.checks.refusal import require_sound_data
from finetune.data.source import source_of
from finetune.errors import UserError, nearest
from finetune.runs.events import Watcher
from finetune.runs.record import RunRecord
from finetune.training.targets import Planned, expand_targets

if TYPE_CHECKING:
    from finetune.training.checkpoints import Saving
    from finetune.training.executors.job import Executor


def plan(
    targets: Sequence[str], settings: Mapping[str, Any], *, seeds: int = 1, shares: Sequence[float] = ()
) -> list[Planned]:
    """The runs of recipes or data with these settings (dotted keys), after the checks of the data.

    With `shares` of the training rows, each is run with each share.

    Raises UserError for a wrong setting, for data that cannot be read, and for data with an error, and Ambiguous where
    its columns could be read in two ways.
    """
    if seeds < 1:
        raise UserError(f"seeds is {seeds}", "Give the number of runs, at least 1")
    planned = expand_targets(list(targets), dict(settings), seeds=seeds, shares=shares)
    require_sound_data([one.task for one in planned])
    return planned


def executor_of(
    name: str | None, *, workers: int | None = None, gpus_each: float | None = None, cpus_each: int | None = None
) -> "Executor":
    """Where several runs are trained: one after the other in this process, or `ray`. Needs torch.

    Raises UserError for another name, for numbers that are out of range, and for numbers without an executor.
    """
    from finetune.training.executors.job import InSequence
    from finetune.training.executors.on_ray import OnRay

    numbers = {"workers": workers, "gpus_each": gpus_each, "cpus_each": cpus_each}
    if name is None:
        if given := [key for key, value in numbers.items() if value is not None]:
            raise UserError(f"{', '.join(given)} is for runs that are trained at once", "Add on=ray, or leave it out")
        return InSequence()
    if name != "ray":
        raise UserError(f"there is no executor '{name}'", f"{nearest(name, ['ray'])}Give ray")
    return OnRay(workers=workers, gpus_each=gpus_each, cpus_each=cpus_each)


def execute(
    planned: Sequence[Planned],
    *,
    data: Path | None,
    out: Path,
    watch: Watcher,
    device: str | None = None,
    force: bool = False,
    wait: bool = True,
    discard: bool = False,
    saving: "Saving | None" = None,
    executor: "Executor | None" = None,
    track: Sequence[str] = (),
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of the finished runs, and the errors of those that failed; see `run_all`. Needs torch.

    `track` are names that `tracker_names` has returned.
    """
    from finetune.training.checkpoints import EVERY_FEW_MINUTES
    from finetune.training.executors.job import InSequence, RunOptions
    from finetune.training.run_many import run_all

    options = RunOptions(
        source=source_of(data), out=out, device=device, force=force, wait=wait, saving=saving or EVERY_FEW_MINUTES,
        track=tuple(track),
    )  # fmt: skip
    return run_all(planned, options, watch=watch, executor=executor or InSequence(), discard=discard)
