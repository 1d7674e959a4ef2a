"""Events: how a run reports progress to its watcher, and the log that saves them."""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from finetune.data.paths import from_here
from finetune.metrics.metric import Metric, Scores


@dataclass(frozen=True, kw_only=True)
class EpochResult:
    """The result of an epoch: the mean loss of its updates, and the scores on dev, `headline` among them.

    `dev_loss` is the mean loss of a label of the first dev split; None where it is unknown.
    """

    epoch: int
    loss: float
    headline: float
    scores: Scores
    dev_loss: float | None = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event of a run. If `logged`, it is a JSON object in the log with its `name` and `facts`."""

    name: ClassVar[str]
    logged: ClassVar[bool] = True

    def facts(self) -> dict[str, Any]:
        """The fields as plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class AlreadyDone(Event):
    """A run that already has a record, with versions of libraries `then` and `now`."""

    name = "already done"
    folder: str
    then: Mapping[str, str]
    now: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Started(Event):
    """A run begins; `recipe` has the settings that are not at their default."""

    name = "start"
    folder: str
    recipe: Mapping[str, Any]
    device: str


@dataclass(frozen=True)
class Note(Event):
    """A note for the user."""

    name = "note"
    text: str


@dataclass(frozen=True, kw_only=True)
class Training(Event):
    """Training begins, or resumes after `done` of its `updates`; an epoch, or other `unit`, has `examples` features."""

    name = "training"
    updates: int
    done: int
    epochs: int
    examples: int
    unit: str = "epoch"


@dataclass(frozen=True, kw_only=True)
class Updates(Event):
    """The losses of some updates, the last being number `update` of the run, and the seconds that they took.

    `rates` are their learning rates, those of the head where layers have several.
    """

    name = "updates"
    update: int
    epoch: int
    losses: Sequence[float]
    seconds: float
    rates: Sequence[float] = ()


@dataclass(frozen=True)
class Working(Event):
    """A step that is neither training nor predicting begins, such as encoding, scoring or saving.

    `done` of `total` parts of it are done; `total` is 0 where it has no parts.
    """

    name = "working"
    logged = False
    what: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, kw_only=True)
class Predicted(Event):
    """The number of features with computed logits."""

    name = "predicted"
    logged = False
    done: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Encoded(Event):
    """The number of sequences with computed hidden states, and the `rate` per second."""

    name = "encoded"
    logged = False
    done: int
    total: int
    rate: float


@dataclass(frozen=True, kw_only=True)
class RowsPredicted(Event):
    """The number of a file's rows with predictions, and the `rate` per second."""

    name = "answered"
    done: int
    total: int
    rate: float


@dataclass(frozen=True, kw_only=True)
class EpochDone(Event):
    """An epoch's result, and the `best` headline score so far; `metrics`, the headline first, say how to show them."""

    name = "epoch"
    result: EpochResult
    best: float
    metrics: Sequence[Metric]

    def facts(self) -> dict[str, Any]:
        """The result's facts, and the best score."""
        return {**asdict(self.result), "best": self.best}


@dataclass(frozen=True, kw_only=True)
class Done(Event):
    """A run is finished, and its record written."""

    name = "done"
    folder: str
    scores: Scores
    seconds: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Ended(Event):
    """A run ended, finished or not; `failure` is why it failed, empty for one that finished or was stopped."""

    name = "end"
    failure: str = ""


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


Watcher = Callable[[Event], None]  # follows a run: a progress display, the log, a test


def unwatched(event: Event) -> None:
    """Ignores the event."""


class EventLog:
    """Appends each event with its Unix time, one JSON object per line, then passes it on.

    A line that a killed process did not finish is dropped first.
    """

    def __init__(self, file: Path, *, then: Watcher) -> None:
        self.file = file
        self.then = then
        if file.is_file():
            whole = file.read_bytes().rfind(b"\n") + 1
            os.truncate(file, whole)

    def __call__(self, event: Event) -> None:
        """Logs an event, except for the steps of predicting, encoding and the like, which are for displays only."""
        if event.logged:
            with self.file.open("a", encoding="utf-8") as opened:
                line = {"time": round(time.time(), 3), "event": event.name, **event.facts()}
                line |= {"folder": from_here(line["folder"])} if "folder" in line else {}
                opened.write(json.dumps(line) + "\n")
        self.then(event)
