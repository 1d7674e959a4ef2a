"""A job in another process, maybe on another machine: what is sent there, and how it is trained there."""

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

from finetune.errors import UserError
from finetune.runs.events import Watcher, unwatched
from finetune.runs.interrupts import Interrupted
from finetune.runs.recipe import Recipe
from finetune.task_types.options import resolved
from finetune.training.executors.job import Job, Outcome, RunOptions, outcome
from finetune.training.targets import Planned

POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True, kw_only=True)
class SentJob:
    """A job without its task, which is read again there: a task may come from a file that cannot be imported.

    `folder` is where the command was started, from which paths are seen; `threads` are those of each thread pool.
    """

    name: str
    recipe: Recipe
    task: str
    options: RunOptions
    pause_after: int | None
    named: bool
    folder: Path
    threads: int


def sent(job: Job, *, threads: int) -> SentJob:
    """The job as it is sent. It does not wait for a run that another process trains: its place is worth more."""
    planned = job.planned
    return SentJob(
        name=planned.name, recipe=planned.recipe, task=planned.task.name, options=replace(job.options, wait=False),
        pause_after=job.pause_after, named=job.named, folder=Path.cwd(), threads=threads,
    )  # fmt: skip


def train_sent(job: SentJob, watch: Watcher = unwatched) -> Outcome:
    """Trains the run in this process, with that number of threads.

    Raises KeyboardInterrupt after a signal, once a checkpoint is saved.
    """
    set_threads(job.threads)
    try:
        return _trained(job, watch)
    except UserError as error:  # from reading the task again
        return error
    except Interrupted as stopped:
        raise KeyboardInterrupt(str(stopped)) from None


def set_threads(count: int) -> None:
    """Sets the sizes of all thread pools: of torch, of the libraries of matrix products, of tokenizers."""
    os.environ.update({name: str(count) for name in POOLS})
    torch.set_num_threads(count)
    threadpool_limits(limits=count)


def _trained(job: SentJob, watch: Watcher) -> Outcome:
    with suppress(OSError):  # paths may be absolute; one that is not is an error of its own
        os.chdir(job.folder)
    default, task = resolved(job.recipe.task, job.recipe.options)
    default, task = replace(default, name=job.task), replace(task, name=job.task)
    planned = Planned(name=job.name, recipe=job.recipe, default=default, task=task)
    return outcome(Job(planned=planned, options=job.options, pause_after=job.pause_after, named=job.named), watch)
