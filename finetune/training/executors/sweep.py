"""The runs of a command that train in other processes: which have ended, and what is shown meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from finetune.errors import UserError
from finetune.runs import interrupts
from finetune.runs.events import Watcher
from finetune.runs.interrupted import interrupted_runs
from finetune.runs.record import RunRecord
from finetune.runs.sweep_events import RunEnded, SweepProgress
from finetune.training.executors.job import Job, Outcome


@dataclass(kw_only=True)
class Sweep:
    """Jobs, and the outcomes of those that ended, by index."""

    jobs: Sequence[Job]
    watch: Watcher
    found: dict[int, Outcome] = field(default_factory=dict)

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcome of each job, in order, once all have ended."""
        return [self.found[index] for index in range(len(self.jobs))]

    def end(self, index: int, outcome: Outcome) -> None:
        """Keeps and shows the outcome of a job."""
        self.found[index] = outcome
        self.watch(
            RunEnded(
                recipe=self.jobs[index].planned.name,
                record=outcome if isinstance(outcome, RunRecord) else None,
                failure=str(outcome) if isinstance(outcome, UserError) else "",
            )
        )

    def show(self) -> None:
        """Shows how many jobs have ended, and the runs under way whose folders can be seen."""
        failed = sum(isinstance(one, UserError) for one in self.found.values())
        running = [run for run in interrupted_runs(self.jobs[0].options.out) if run.running]
        self.watch(
            SweepProgress(
                finished=len(self.found) - failed, failed=failed, total=len(self.jobs), running=running
            )
        )  # fmt: skip

    def stopped(self) -> interrupts.Interrupted:
        """The exception of a signal that has asked to stop."""
        where = f"with {len(self.found)} of {len(self.jobs)} runs ended"
        return interrupts.Interrupted(interrupts.Stopping().number, where)
