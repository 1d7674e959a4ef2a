"""Events: how a run tells whoever watches what it does, and the log that keeps them."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from finetune.metrics.scores import Scores


@dataclass(frozen=True, kw_only=True)
class EpochResult:
    """How an epoch ended: the mean loss of its updates, and the scores on dev, of which `headline` decides."""

    epoch: int
    loss: float
    headline: float
    scores: Scores


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that a run does. In the log it is an object with its `name` and `facts`, if it is `logged`."""

    name: ClassVar[str]
    logged: ClassVar[bool] = True

    def facts(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class AlreadyDone(Event):
    """A run whose record is there, with versions of libraries `then` and `now`."""

    name = "already done"
    folder: str
    then: Mapping[str, str]
    now: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Started(Event):
    """A run begins; `recipe` has what is not at its default."""

    name = "start"
    folder: str
    recipe: Mapping[str, Any]
    device: str


@dataclass(frozen=True)
class Note(Event):
    """Something that a user should know."""

    name = "note"
    text: str


@dataclass(frozen=True, kw_only=True)
class Training(Event):
    """Training begins, or resumes after `done` of its `updates`, over so many `examples` an epoch."""

    name = "training"
    updates: int
    done: int
    epochs: int
    examples: int


@dataclass(frozen=True, kw_only=True)
class Updates(Event):
    """The losses of some updates, the last of which is number `update` of the run, and the seconds that they took."""

    name = "updates"
    update: int
    epoch: int
    losses: Sequence[float]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Predicted(Event):
    """Features whose logits are computed."""

    name = "predicted"
    logged = False
    done: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Encoded(Event):
    """Sequences whose hidden states are computed, at `rate` a second."""

    name = "encoded"
    logged = False
    done: int
    total: int
    rate: float


@dataclass(frozen=True, kw_only=True)
class RowsPredicted(Event):
    """Rows of a file that have their predictions, at `rate` a second."""

    name = "answered"
    done: int
    total: int
    rate: float


@dataclass(frozen=True, kw_only=True)
class EpochDone(Event):
    """An epoch's result, and the `best` headline score so far."""

    name = "epoch"
    result: EpochResult
    best: float

    def facts(self) -> dict[str, Any]:
        """The result's own facts, and the best score."""
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
    """A run came to its end, finished or not."""

    name = "end"


Watcher = Callable[[Event], None]  # whoever follows a run: a progress display, the log, a test


def unwatched(event: Event) -> None:
    """Watches nothing."""


class EventLog:
    """Appends each event with the seconds since 1970, one JSON object a line, then passes it on."""

    def __init__(self, file: Path, *, then: Watcher) -> None:
        self.file = file
        self.then = then

    def __call__(self, event: Event) -> None:
        """Writes one line, but for the steps of predicting and encoding, which only a display wants."""
        if event.logged:
            with self.file.open("a", encoding="utf-8") as opened:
                line = {"time": round(time.time(), 3), "event": event.name, **event.facts()}
                opened.write(json.dumps(line) + "\n")
        self.then(event)
