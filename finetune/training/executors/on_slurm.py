"""Trains runs as one array of Slurm jobs, by submitit; a preempted job is requeued, and its run resumes."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from finetune.data.atomic import require_no_links
from finetune.errors import UserError, first_line
from finetune.machines.counts import require_numbers
from finetune.machines.place import Place
from finetune.runs import interrupts
from finetune.runs.events import Watcher
from finetune.training.executors.job import Job, Outcome
from finetune.training.executors.order import longest_first
from finetune.training.executors.remote import SentJob, sent, train_sent
from finetune.training.executors.sweep import Sweep

CLUSTER = "slurm"  # in tests `local`: submitit starts the jobs as processes of this machine
LOG_LEVEL = "SUBMITIT_LOG_LEVEL"  # of submitit, read when it is imported
LOGS = ".slurm"  # the folder of submitit's own files, in the results folder
SECONDS_BETWEEN_LOOKS = 2.0  # seconds between looks at what has ended
PATIENCE = 120.0  # seconds in which a job that is asked to stop writes its checkpoint
REQUEUES = 100


@dataclass(frozen=True, kw_only=True)
class OnSlurm:
    """Slurm jobs with so many CPU cores and GPUs each, at most `workers` at a time.

    `sbatch` are further options of sbatch, such as `partition` and `time`.
    """

    workers: int | None = None
    gpus_each: float | None = None
    cpus_each: int | None = None
    sbatch: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises UserError for numbers below 1, and for parts of GPUs."""
        require_numbers(workers=self.workers, cpus_each=self.cpus_each)
        if self.gpus_each is not None and (self.gpus_each < 0 or self.gpus_each % 1):
            raise UserError(f"`gpus_each` is {self.gpus_each}: Slurm has no parts of GPUs", "Give a whole number")

    def held(self, out: Path) -> AbstractContextManager[None]:
        """Nothing: each call is a job array."""
        return nullcontext()

    def outcomes(self, jobs: Sequence[Job], watch: Watcher) -> list[Outcome]:
        """What became of each job. Raises UserError where Slurm cannot be used, and Interrupted after a signal."""
        if not jobs:
            return []
        executor = self._executor(jobs[0].options.out)
        sweep, order = Sweep(jobs=jobs, watch=watch), longest_first(jobs)
        place = Place(folder=Path.cwd(), threads=self.cpus_each or 1, on_cpu=self.gpus_each == 0)
        with interrupts.deferred():
            submitted = self._submitted(
                executor, [sent(jobs[index], place=place, wait=jobs[index].options.wait) for index in order]
            )
            under_way = dict(zip(order, submitted, strict=True))
            while under_way:
                sweep.show()
                for index in [index for index, job in under_way.items() if job.done()]:
                    sweep.end(index, _outcome(under_way.pop(index), jobs[index]))
                if interrupts.asked():
                    _stop(list(under_way.values()))
                    raise sweep.stopped()
                time.sleep(SECONDS_BETWEEN_LOOKS if under_way else 0)
        return sweep.outcomes

    def _executor(self, out: Path) -> Any:
        """Raises UserError where submitit or Slurm is not installed."""
        submitit = _submitit()
        if CLUSTER == "slurm" and shutil.which("sbatch") is None:
            raise UserError("this machine has no sbatch, so no Slurm", "Start it on a login node, or leave `on` out")
        require_no_links(out / LOGS)
        executor = submitit.AutoExecutor(folder=out.resolve() / LOGS, cluster=CLUSTER, slurm_max_num_timeout=REQUEUES)
        executor.update_parameters(name="finetune", cpus_per_task=self.cpus_each or 1)
        if self.gpus_each:
            executor.update_parameters(gpus_per_node=int(self.gpus_each))
        if self.workers is not None:
            executor.update_parameters(slurm_array_parallelism=self.workers)
        if self.sbatch:
            executor.update_parameters(slurm_additional_parameters=dict(self.sbatch))
        return executor

    @staticmethod
    def _submitted(executor: Any, jobs: Sequence[SentJob]) -> list[Any]:
        try:
            return executor.map_array(_Resumable(), jobs)  # type: ignore[no-any-return]
        except (subprocess.CalledProcessError, OSError, RuntimeError) as error:  # submitit's own are RuntimeErrors
            raise UserError(f"Slurm did not take the jobs ({first_line(error)})", "Change `sbatch`") from error


class _Resumable:
    """Trains a job; called again with it after it was preempted, since its checkpoint is in the run's folder."""

    def __call__(self, job: SentJob) -> Any:
        """Trains the run of a job. One that a signal stops ends with a UserError: submitit would log a traceback."""
        try:
            return train_sent(job)
        except KeyboardInterrupt as stopped:
            return UserError(f"{job.name}: {stopped or 'stopped'}", "The same command resumes it")

    def checkpoint(self, job: SentJob) -> Any:
        """What submitit puts in the queue after the signal of a preemption."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, job)


def _submitit() -> ModuleType:
    """submitit, which must not configure this process's logging: that would close the handlers that others added.

    Raises UserError where it is not installed.
    """
    given = os.environ.get(LOG_LEVEL)
    os.environ[LOG_LEVEL] = "NOCONFIG"
    try:
        return import_module("submitit")
    except ImportError as error:
        raise UserError(
            "submitit, which submits Slurm jobs, is not installed", "pip install 'bert-finetune[slurm]'"
        ) from error
    finally:
        del os.environ[LOG_LEVEL]
        if given is not None:
            os.environ[LOG_LEVEL] = given


def _outcome(job: Any, ours: Job) -> Outcome:
    """What a job returned; a UserError that names its log where it ended without an answer."""
    error = job.exception()
    if error is None:
        return job.result()  # type: ignore[no-any-return]
    return UserError(
        f"{ours.planned.name}: its job {job.job_id} ended without an answer ({first_line(error)})",
        f"Read {job.paths.stderr}; the same command resumes it",
    )


def _stop(jobs: Sequence[Any]) -> None:
    """Sends Ctrl-C to running jobs, waits until they have written their checkpoints, and cancels what is left."""
    for job in jobs:
        if hasattr(job, "_process"):  # of submitit's local executor
            job._process.send_signal(signal.SIGINT)
        else:
            subprocess.run(["scancel", "--signal=INT", job.job_id], check=False, capture_output=True)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not all(job.done(force_check=True) for job in jobs):
        time.sleep(SECONDS_BETWEEN_LOOKS)
    for job in jobs:
        if not job.done():
            job.cancel(check=False)
