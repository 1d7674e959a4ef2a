"""Runs several recipes; a failed run does not stop the rest."""

from collections.abc import Sequence

from finetune.errors import UserError
from finetune.runs.events import Watcher
from finetune.runs.record import RunRecord
from finetune.training.executors.job import Executor, Job, RunOptions
from finetune.training.targets import Planned


def run_all(
    runs: Sequence[Planned], options: RunOptions, *, watch: Watcher, executor: Executor
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of finished runs, and the errors of failed ones, each in the order of the runs."""
    jobs = [Job(planned=one, options=options, named=len(runs) > 1) for one in runs]
    found = executor.outcomes(jobs, watch)
    failures = [one for one in found if isinstance(one, UserError)]
    return [one for one in found if isinstance(one, RunRecord)], failures
