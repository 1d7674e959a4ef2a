"""From recipes or data to finished runs: what `finetune run` and `finetune.train` both call."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.checks.refusal import require_sound_data
from finetune.data.source import source_of
from finetune.errors import UserError
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
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of the finished runs, and the errors of those that failed; see `run_all`. Needs torch."""
    from finetune.training.checkpoints import EVERY_FEW_MINUTES
    from finetune.training.executors.job import InSequence, RunOptions
    from finetune.training.run_many import run_all

    options = RunOptions(
        source=source_of(data), out=out, device=device, force=force, wait=wait, saving=saving or EVERY_FEW_MINUTES
    )
    return run_all(planned, options, watch=watch, executor=executor or InSequence(), discard=discard)
