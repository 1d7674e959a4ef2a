"""How the runs of a command are trained: what does not change a run's result, and so is not a setting of a recipe."""

import math
from dataclasses import dataclass
from pathlib import Path

from finetune.data.source import Source
from finetune.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Saving:
    """How often checkpoints are written: after so many `updates`, or without them every few `minutes`, or less often
    where writing takes too large a share of the time.
    """

    minutes: float = 2.0
    updates: int | None = None

    def __post_init__(self) -> None:
        """Raises UserError for minutes that are not a finite number: no checkpoint would ever be due."""
        if not math.isfinite(self.minutes):
            raise UserError(f"{self.minutes} minutes between checkpoints", "Give a number, such as 2")


EVERY_FEW_MINUTES = Saving()


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where data is read, where runs are written, and how they are trained; each front end makes one for all its runs.

    A run that another process trains is waited for; without `wait` it is an error. With `force` a finished run is
    trained again, and kept until the new one is finished. `track` are the names of the trackers that each run is sent
    to.
    """

    source: Source
    out: Path
    device: str | None = None
    force: bool = False
    wait: bool = True
    saving: Saving = EVERY_FEW_MINUTES
    track: tuple[str, ...] = ()
