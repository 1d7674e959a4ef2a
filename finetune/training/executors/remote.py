"""A job in another process, maybe on another machine: what is sent there, and how it is trained there."""

from dataclasses import dataclass, replace
from pathlib import Path

from finetune.errors import UserError
from finetune.machines.place import Place
from finetune.runs.events import Watcher, unwatched
from finetune.runs.interrupts import Interrupted
from finetune.runs.processes import first_process
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import resolved_run
from finetune.training.executors.job import Job, Outcome, outcome
from finetune.training.executors.packed import PackedRun, folder_here, packed_run, unpack
from finetune.training.run_options import RunOptions

Sent = Outcome | PackedRun


@dataclass(frozen=True, kw_only=True)
class SentJob:
    """A job without its task, which is read again there: a task may come from a file that cannot be imported.

    `collect` says which parts of the run come back, if its machine does not see the results folder.
    """

    name: str
    recipe: Recipe
    task: str
    encoder: Path | None
    typed: tuple[str, ...]
    options: RunOptions
    pause_after: int | None
    named: bool
    place: Place
    collect: str


def sent(job: Job, *, place: Place, wait: bool, collect: str = "") -> SentJob:
    """The job as it is sent; without `wait` it comes back as Locked if another process trains its run.

    With `collect`, which is one of PARTS, its run is written in a folder of that machine, and comes back as bytes.
    """
    planned, options = job.planned, replace(job.options, wait=wait, out=job.options.out.resolve())
    return SentJob(
        name=planned.name, recipe=planned.recipe, task=planned.task.name, typed=planned.typed, options=options,
        encoder=None if planned.encoder is None else planned.encoder.resolve(),
        pause_after=job.pause_after, named=job.named, place=place, collect=collect,
    )  # fmt: skip


def received(came: Sent, job: Job) -> Outcome:
    """The outcome of a job; a run that came as bytes is written into the job's results folder."""
    return unpack(came, job.options.out) if isinstance(came, PackedRun) else came


def train_sent(job: SentJob, watch: Watcher = unwatched) -> Sent:
    """Trains the run in this process, in the place of the job. Of several processes the first one packs it.

    Raises KeyboardInterrupt after a signal, once a checkpoint is saved.
    """
    job.place.enter()
    try:
        if not job.collect:
            return _trained(job, watch)
        own = replace(job, options=replace(job.options, out=folder_here(job.options.out)))
        found = _trained(own, watch)
        if not isinstance(found, RunRecord) or not first_process():
            return found
        return packed_run(found, own.options.out, parts=job.collect)
    except UserError as error:  # from reading the task again
        return error
    except Interrupted as stopped:
        raise KeyboardInterrupt(str(stopped)) from None


def _trained(job: SentJob, watch: Watcher) -> Outcome:
    found = resolved_run(job.recipe, name=job.name).renamed(job.task)
    planned = replace(found, encoder=job.encoder, typed=job.typed)
    return outcome(Job(planned=planned, options=job.options, pause_after=job.pause_after, named=job.named), watch)
