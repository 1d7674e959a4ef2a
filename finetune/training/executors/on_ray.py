"""Trains runs as Ray tasks. Ray schedules and retries; that a run is not trained twice is the run folder's doing."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from finetune.errors import UserError
from finetune.machines.counts import require_numbers
from finetune.machines.place import Place
from finetune.machines.ray_tasks import RayTasks, TaskSize, ended
from finetune.runs import interrupts
from finetune.runs.events import Watcher
from finetune.runs.folder import Locked
from finetune.training.executors.group import GroupSize, train_together
from finetune.training.executors.job import Job, Outcome
from finetune.training.executors.order import longest_first
from finetune.training.executors.packed import PARTS
from finetune.training.executors.remote import Sent, SentJob, received, sent, train_sent
from finetune.training.executors.sweep import Sweep

NOT_SHARED = "Give a folder that all see as `out`, or add `collect`, which sends the runs back"
SECONDS_BETWEEN_LOOKS = 1.0  # seconds between looks at what has ended
PATIENCE = 5.0  # seconds after which a run that another process trains is tried again


@dataclass(frozen=True, kw_only=True)
class OnRay(RayTasks):
    """Trains each run as a task, or as a group of so many `processes` on each of so many `machines`.

    With `collect` (`all`, or `scores` for all but the model) runs are written where they are trained and sent back.
    """

    collect: str = ""
    processes: int = 1
    machines: int = 1

    def __post_init__(self) -> None:
        """Raises UserError for numbers below 1, for parts of several GPUs, for other parts of runs, and for groups
        that cannot be.
        """
        super().__post_init__()
        require_numbers(processes=self.processes, machines=self.machines)
        if self.collect and self.collect not in PARTS:
            raise UserError(f"`collect` is '{self.collect}'", f"Give {' or '.join(PARTS)}")
        if self.collect and self.machines > 1:
            raise UserError("`collect` is for runs on one machine each", "Give a folder that all see as `out`")
        if self._in_groups and self.gpus_each and self.gpus_each % 1:
            raise UserError(f"`gpus_each` is {self.gpus_each}, and processes share no GPU", "Give a whole number")

    @contextmanager
    def held(self, out: Path) -> Iterator[None]:
        """A cluster, which takes seconds to start. Raises UserError where none can be used."""
        with self._cluster(out):
            yield

    def outcomes(self, jobs: Sequence[Job], watch: Watcher) -> list[Outcome]:
        """What became of each job; a worker that dies is replaced, and its run resumes.

        Raises UserError where no cluster can be used, and Interrupted after a signal, once the runs under way have
        written their checkpoints.
        """
        if not jobs:
            return []
        with self._cluster(jobs[0].options.out) as ray:
            size = self.size(ray)
            sweep = Sweep(jobs=jobs, watch=watch)
            most = self.workers or len(jobs)
            start = size.task(ray, _train).remote
            if self._in_groups:
                group = GroupSize(processes=self.processes, machines=self.machines, each=size)
                most = min(most, group.at_once(ray))
                start = partial(TaskSize(cpus=0, gpus=0).task(ray, train_together).remote, size=group)
            return _Tasks(ray=ray, start=start, place=size.place(), most=most, collect=self.collect, sweep=sweep).run()

    @property
    def _in_groups(self) -> bool:
        return self.processes * self.machines > 1

    def _cluster(self, out: Path) -> AbstractContextManager[Any]:
        return self.cluster(None if self.collect else out, remedy=NOT_SHARED, processes=self.processes)


@dataclass(kw_only=True)
class _Tasks:
    """The jobs of a sweep, by index: waiting ones with their earliest start, and running ones by Ray's reference.

    `start` starts a task for one job, at most `most` at a time.
    """

    ray: Any
    start: Callable[[SentJob], Any]
    place: Place
    most: int
    collect: str
    sweep: Sweep
    waiting: dict[int, float] = field(default_factory=dict)
    under_way: dict[Any, int] = field(default_factory=dict)

    def run(self) -> list[Outcome]:
        """The outcome of each job, in order."""
        self.waiting = dict.fromkeys(longest_first(self.sweep.jobs), 0.0)
        with interrupts.deferred():
            while self.waiting or self.under_way:
                self._start()
                self.sweep.show()
                self._end()
                if interrupts.asked():
                    self._stop()
        return self.sweep.outcomes

    def _start(self) -> None:
        """Starts what there is room for. A task does not wait for a run that another command trains: it would take a
        worker's place.
        """
        now = time.monotonic()
        due = [index for index, earliest in self.waiting.items() if earliest <= now]
        for index in due[: self.most - len(self.under_way)]:
            del self.waiting[index]
            job = sent(self.sweep.jobs[index], place=self.place, wait=False, collect=self.collect)
            self.under_way[self.start(job)] = index

    def _end(self) -> None:
        """Collects the jobs that end in the next second; a run that another command trains is tried again later."""
        if not self.under_way:  # others train all that is left
            time.sleep(SECONDS_BETWEEN_LOOKS)
            return
        done, _ = self.ray.wait(list(self.under_way), num_returns=1, timeout=SECONDS_BETWEEN_LOOKS)
        for reference in done:
            index = self.under_way.pop(reference)
            job = self.sweep.jobs[index]
            outcome = received(ended(self.ray, reference, job.planned.name), job)
            if isinstance(outcome, Locked) and job.options.wait:
                self.waiting[index] = time.monotonic() + PATIENCE
            else:
                self.sweep.end(index, outcome)

    def _stop(self) -> None:
        """Asks all tasks to stop, waits until they have written their checkpoints, and raises Interrupted."""
        for reference in self.under_way:
            self.ray.cancel(reference, recursive=False)
        for reference in self.under_way:
            with suppress(Exception, KeyboardInterrupt):
                self.ray.get(reference)
        raise self.sweep.stopped()


def _train(job: SentJob) -> Sent:
    """A task of Ray, whose cancelling repeats a signal every two seconds."""
    interrupts.repeat_is_one()
    return train_sent(job)
