"""Rate and time left of training, from this process's own updates: those before an interruption do not count."""

import time
from collections import deque

from finetune.runs.events import Training, Updates

RECENT = 5  # groups of updates that a rate is the mean of


class Pace:
    """Follows updates and evaluations of a plan."""

    def __init__(self, plan: Training) -> None:
        self.plan = plan
        self.update = plan.done
        self.recent = deque[tuple[int, float]](maxlen=RECENT)  # number of updates, seconds
        self.evaluations_left = plan.epochs
        self.evaluation = 0.0  # seconds of the last one
        self.updated_at = time.monotonic()

    def add(self, some: Updates) -> None:
        """Counts some updates."""
        self.update, self.updated_at = some.update, time.monotonic()
        self.evaluations_left = self.plan.epochs - some.epoch + 1
        self.recent.append((len(some.losses), some.seconds))

    def end_epoch(self, epoch: int) -> None:
        """Counts an evaluation, which began after the last update."""
        self.evaluation = time.monotonic() - self.updated_at
        self.evaluations_left = self.plan.epochs - epoch

    @property
    def seconds_per_update(self) -> float:
        """The mean of the recent updates."""
        return sum(seconds for _, seconds in self.recent) / sum(count for count, _ in self.recent)

    @property
    def rate(self) -> float:
        """Examples per second."""
        plan = self.plan
        return plan.examples * plan.epochs / plan.updates / max(self.seconds_per_update, 1e-9)

    @property
    def left(self) -> float:
        """Seconds of the remaining updates, and of the remaining evaluations once one was made."""
        updates = (self.plan.updates - self.update) * self.seconds_per_update
        return updates + self.evaluations_left * self.evaluation


def duration(seconds: float) -> str:
    """`45 s`, `12:05`, `3:00:09` (hours, minutes, seconds)."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
