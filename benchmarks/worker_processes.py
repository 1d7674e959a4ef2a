"""Runs side by side, as worker processes that share a GPU: without Ray, which a machine may not have."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from finetune.errors import UserError
from finetune.machines.place import Place
from finetune.runs.events import Watcher
from finetune.training.executors.job import Job, Outcome
from finetune.training.executors.order import longest_first
from finetune.training.executors.remote import Sent, received, sent, train_sent


@dataclass(frozen=True, kw_only=True)
class WorkerProcesses:
    """An executor with a pool of so many processes, each of which trains one run after the other, the longest first."""

    pool: ProcessPoolExecutor
    workers: int

    def held(self, out: Path) -> AbstractContextManager[None]:
        """Nothing: the pool stays open."""
        return nullcontext()

    def outcomes(self, jobs: Sequence[Job], watch: Watcher) -> list[Outcome]:
        """What became of each job; one whose process dies, of memory or else, failed."""
        place = Place(folder=Path.cwd(), threads=max(1, (os.cpu_count() or 1) // self.workers))
        started: dict[int, Future[Sent]] = {}
        for index in longest_first(jobs):
            started[index] = self.pool.submit(train_sent, sent(jobs[index], place=place, wait=True))
        return [_outcome(started[index], job) for index, job in enumerate(jobs)]


@contextmanager
def worker_processes(workers: int) -> Iterator[WorkerProcesses]:
    """An executor whose processes end with the context."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield WorkerProcesses(pool=pool, workers=workers)


def _outcome(future: "Future[Sent]", job: Job) -> Outcome:
    try:
        return received(future.result(), job)
    except Exception as error:  # whatever it was, the other runs are worth keeping
        return UserError(f"{job.planned.name}: {type(error).__name__}: {error}", "Give the same command again")
