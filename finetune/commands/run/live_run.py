"""What a live page knows of a run: its losses and scores so far, how far it is, and how it ended."""

import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from finetune.metrics.metric import Metric, find_metric
from finetune.metrics.scores import in_words
from finetune.runs.events import EpochDone, Event, Training, Updates, Working, logged
from finetune.runs.folder import NEW, RunFolder
from finetune.runs.losses import read_losses
from finetune.runs.pace import Pace
from finetune.runs.record_files import load_record
from finetune.runs.verdict import verdict_of

RUNNING, FINISHED, FAILED, STOPPED = "running", "finished", "failed", "stopped"


@dataclass(kw_only=True)
class LiveRun:
    """A run that the page has seen. `epochs` are the facts of each evaluation by its number, `metric` the headline."""

    folder: Path
    device: str = ""
    state: str = RUNNING
    what: str = ""
    scores: str = ""
    words: str = ""
    pace: Pace | None = None
    losses: dict[int, float] = field(default_factory=dict)
    epochs: dict[int, dict[str, Any]] = field(default_factory=dict)
    metric: Metric | None = None
    best: float | None = None
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """Task and id."""
        return f"{self.folder.parent.name} {self.folder.name}"

    def see(self, event: Event) -> None:
        """Takes what an event of this run says."""
        match event:
            case Working():
                self.what = event.what
            case Training():
                self.pace, self.what = Pace(event), "training"
                if event.done:
                    self._read_log(event)
            case Updates() if self.pace is not None:
                self.pace.add(event)
                first = event.update - len(event.losses) + 1
                self.losses |= dict(enumerate(event.losses, start=first))
            case EpochDone():
                self._score(event)

    def finish(self) -> None:
        """Takes scores and verdict of the record."""
        record = load_record(RunFolder(self.folder).record_file)
        self.scores, self.words = in_words(record.scores, record.metric), verdict_of([record]).sentence
        self._end(FINISHED)
        self.seconds = record.seconds["total"]  # with those before an interruption

    def stop(self, failure: str) -> None:
        """Ends a run that did not finish; `failure` is empty where it was interrupted."""
        self.words = failure or "The same command resumes it from its last checkpoint."
        self._end(FAILED if failure else STOPPED)

    def _end(self, state: str) -> None:
        self.state, self.seconds = state, time.monotonic() - self.began

    def _score(self, done: EpochDone) -> None:
        self.epochs[done.result.epoch] = asdict(done.result)
        self.metric, self.best = done.metrics[0], done.best
        self.scores = in_words(done.result.scores, partial(find_metric, metrics=done.metrics))
        if self.pace is not None:
            self.pace.end_epoch(done.result.epoch)

    def _read_log(self, plan: Training) -> None:
        """What a resumed run had done before: its losses and evaluations, as far as the checkpoint goes."""
        new = self.folder / NEW
        log = RunFolder(new if new.is_dir() else self.folder).events
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
        self.losses = dict(read_losses(lines)[0])
        for event in filter(None, map(logged, lines)):
            if event["event"] == EpochDone.name and event.get("epoch", 0) * plan.updates <= plan.done * plan.epochs:
                self.epochs[event["epoch"]] = event
