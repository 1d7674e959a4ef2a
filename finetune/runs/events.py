"""Events: how a run reports progress to its watcher, and the log that saves them and is read again."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from finetune.data.paths import from_here
from finetune.metrics.metric import Metric, Scores


@dataclass(frozen=True, kw_only=True)
class EpochResult:
    """The result of an epoch: the mean loss of its updates, and the scores on dev, `headline` among them.

    `dev_loss` is the mean loss of a label of the first dev split; None if unknown.
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
class Forecast(Event):
    """What a run will take from its start, with `parts` epochs or other units, and at most if it `stops_early`.

    `score` is the range in which nine of ten runs end, by `metric` on the first dev split; None where nothing tells it.
    """

    name = "forecast"
    seconds: float
    seconds_of_part: float
    parts: int
    stops_early: bool
    peak_memory_bytes: int
    metric: str = ""
    score: tuple[float, float] | None = None

    @property
    def words(self) -> str:
        """`about 43 s and 1.3 GB of memory; macro f1 62.2 to 85.1 in nine of ten runs`."""
        time, memory = duration(self.seconds), f"{self.peak_memory_bytes / 1e9:.2g} GB of memory"
        cost = f"about {time}{' at most' * self.stops_early} and {memory}"
        if self.score is None:
            return cost
        low, high = map(Metric(self.metric).shown, self.score)
        return f"{cost}; {self.metric} {low} to {high} in nine of ten runs"


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

    `rates` are their learning rates; of several rates by layer the head's.
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

    `done` of `total` parts of it are done; `total` is 0 for a step without parts.
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


def duration(seconds: float) -> str:
    """`45 s`, `12:05`, `3:00:09` (hours, minutes, seconds)."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


Watcher = Callable[[Event], None]  # follows a run: a progress display, the log, a test
END_BYTES = 65_536  # read at each end of a log


def unwatched(event: Event) -> None:
    """Ignores the event."""


class EventLog:
    """Appends each event with its Unix time, one JSON object per line, then passes it on.

    A line that a killed process did not finish is dropped first. Events for displays only are not logged.
    """

    def __init__(self, file: Path, *, then: Watcher) -> None:
        self.file = file
        self.then = then
        if file.is_file():
            os.truncate(file, file.read_bytes().rfind(b"\n") + 1)

    def __call__(self, event: Event) -> None:
        if event.logged:
            line = {"time": round(time.time(), 3), "event": event.name, **event.facts()}
            if "folder" in line:
                line["folder"] = from_here(line["folder"])
            with self.file.open("a", encoding="utf-8") as log:
                log.write(json.dumps(line) + "\n")
        self.then(event)


def logged_events(lines: Iterable[str | bytes]) -> Iterator[dict[str, Any]]:
    """The events of a log's lines. Others are left out, such as the last line of a killed run."""
    for line in lines:
        with suppress(ValueError, RecursionError):
            event = json.loads(line)
            if isinstance(event, dict) and "event" in event:
                yield event


def first_and_last_events(file: Path) -> list[dict[str, Any]]:
    """The events in the first and in the last END_BYTES of a log; none without a log."""
    if not file.is_file():
        return []
    with file.open("rb") as log:
        lines = log.read(END_BYTES).splitlines()
        log.seek(max(0, log.seek(0, os.SEEK_END) - END_BYTES))
        return [*logged_events([*lines, *log.read(END_BYTES).splitlines()])]


def logged_seconds(file: Path) -> float:
    """The seconds from the start of each attempt in a log to its last event; 0 without a log."""
    seconds, last = 0.0, None
    with file.open(encoding="utf-8", errors="replace") if file.is_file() else nullcontext(()) as lines:
        for event in logged_events(lines):
            with suppress(ValueError, KeyError, TypeError):  # of an event that is not ours
                starts, now = event["event"] == "start", float(event["time"])
                if last is not None and not starts:
                    seconds += max(0.0, now - last)
                last = now if last is not None or starts else None
    return seconds
