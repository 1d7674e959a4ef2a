"""Events of a command whose runs are trained in other processes."""

from collections.abc import Sequence
from dataclasses import dataclass

from finetune.runs.events import Event
from finetune.runs.interrupted import InterruptedRun
from finetune.runs.record import RunRecord


@dataclass(frozen=True, kw_only=True)
class RunEnded(Event):
    """A run of a recipe ended: with a record, paused (without either), or failed for the reason `failure`."""

    name = "run ended"
    logged = False
    recipe: str
    record: RunRecord | None = None
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class SweepProgress(Event):
    """How many of the `total` runs are finished and failed, and those under way whose folders can be seen."""

    name = "sweep"
    logged = False
    finished: int
    failed: int
    total: int
    running: Sequence[InterruptedRun] = ()
