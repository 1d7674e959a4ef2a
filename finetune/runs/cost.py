"""What a run cost: device time and memory."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from finetune.runs.events import logged
from finetune.runs.whole_record import LARGEST_SCORE, Whole

Amount = Annotated[float, Field(ge=0, le=LARGEST_SCORE)]


class Cost(BaseModel):
    """The cost of a run in all its processes together, until its model is saved.

    `device_seconds` is the time that devices were held, of interrupted attempts too. Memory is the most that was used:
    main memory of the processes, and that of the GPUs (None without one).
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)  # records once had joules

    device_seconds: Amount
    peak_memory_bytes: Whole
    peak_device_bytes: Whole | None = None


def logged_seconds(events: Path) -> float:
    """The seconds from the start of each attempt that a log has to its last event; 0 without a log."""
    attempts: list[float] = []
    for (name, then), (following, now) in pairwise(_times(events)):
        if name == "start":
            attempts.append(0.0)
        if attempts and following != "start":
            attempts[-1] += max(0.0, now - then)
    return sum(attempts)


def _times(events: Path) -> Iterator[tuple[str, float]]:
    """(name, Unix time) of each event that can be parsed."""
    if not events.is_file():
        return
    with events.open(encoding="utf-8", errors="replace") as opened:
        for line in opened:
            event = logged(line) or {}
            with suppress(ValueError, KeyError, TypeError):
                yield str(event["event"]), float(event["time"])
