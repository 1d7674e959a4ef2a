"""A job: one run of a command, how it is trained, and what became of it."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from finetune.errors import UserError, first_line
from finetune.models.device import is_out_of_memory
from finetune.runs.events import Ended, Watcher
from finetune.runs.processes import first_process
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.run import run
from finetune.training.run_options import RunOptions
from finetune.training.tracking.tracking import tracked
from finetune.training.trainer import Paused

Outcome = RunRecord | float | UserError  # the record; of a paused run its headline score so far; why it failed


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run, with the epoch after which it pauses, if any. The errors of a `named` job begin with its recipe."""

    planned: ResolvedRun
    options: RunOptions
    pause_after: int | None = None
    named: bool = False


class Executor(Protocol):
    """Trains the runs of a command."""

    @property
    def workers(self) -> int | None:
        """The most runs that are trained at a time; None: as many as there is room for."""

    def held(self, out: Path) -> AbstractContextManager[None]:
        """Keeps what several calls of `outcomes` with runs under `out` can share."""

    def outcomes(self, jobs: Sequence[Job], watch: Watcher) -> list[Outcome]:
        """What became of each job. Raises what is not the user's to fix, and Interrupted after a signal."""


class InSequence:
    """Trains one run after the other in this process."""

    workers = 1

    def held(self, out: Path) -> AbstractContextManager[None]:
        """Nothing."""
        return nullcontext()

    def outcomes(self, jobs: Sequence[Job], watch: Watcher) -> list[Outcome]:
        """What became of each job; a failed one does not stop the rest."""
        return [outcome(job, watch) for job in jobs]


def outcome(job: Job, watch: Watcher) -> Outcome:
    """Trains the run of a job in this process. Raises what is not the user's to fix, and Interrupted."""
    planned, options = job.planned, job.options
    first, why = first_process(), ""
    try:
        with tracked(options.track if first else (), watch) as watcher:
            return run(planned, options, watch=watcher, pause_after=job.pause_after)
    except Paused as paused:
        return paused.headline
    except (UserError, OSError, RuntimeError) as error:
        failure = _failure(error, planned.name if job.named else "")
        why = f"{type(error).__name__}: {error}" if failure is None else failure.what
        if failure is None:
            raise
        if os.environ.get("WORLD_SIZE", "1") != "1":
            raise failure from error  # the other processes would wait for this one forever
        return failure
    finally:
        watch(Ended(failure=why))


def _failure(error: Exception, name: str) -> UserError | None:
    """An exception as UserError that begins with the recipe's `name`, unless that is empty; None for a fault of the
    code.
    """
    prefix = f"{name}: " if name else ""
    if isinstance(error, UserError):
        return type(error)(f"{prefix}{error.what}", error.way_out)
    if isinstance(error, OSError):
        return UserError(f"{prefix}{error}", "Free space, or choose another folder with `out`")
    if isinstance(error, RuntimeError) and is_out_of_memory(error):
        return UserError(
            f"{prefix}out of memory",
            "Set train.gradient_checkpointing=true, raise train.accumulation, or lower train.batch_size or max_length",
        )
    if "deterministic" in str(error):
        return UserError(f"{prefix}{first_line(error)}", "Leave deterministic = true out, or train on the CPU")
    return None
