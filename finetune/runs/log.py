"""What the log of a run's events says."""

import json
import os
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

END_BYTES = 65_536  # that are read of each end of a log


def logged(line: str | bytes) -> dict[str, Any] | None:
    """The event of a line of a log; None for a line that is not one, such as the last of a killed run."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and "event" in event else None


def first_and_last_events(file: Path) -> list[dict[str, Any]]:
    """The events at the beginning and at the end of a log; none without one. Lines that are no events are left out."""
    if not file.is_file():
        return []
    with file.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        log.seek(0)
        lines = log.read(END_BYTES).splitlines()
        log.seek(max(0, size - END_BYTES))
        lines += log.read(END_BYTES).splitlines()
    return [event for line in lines if (event := logged(line)) is not None]


def logged_seconds(file: Path) -> float:
    """The seconds from the start of each attempt that a log has to its last event; 0 without a log."""
    seconds, last = 0.0, None
    with file.open(encoding="utf-8", errors="replace") if file.is_file() else nullcontext(()) as lines:
        for event in map(logged, lines):
            with suppress(ValueError, KeyError, TypeError):  # of an event that is not ours
                name, now = str((event or {})["event"]), float((event or {})["time"])
                if last is not None and name != "start":
                    seconds += max(0.0, now - last)
                last = now if last is not None or name == "start" else None
    return seconds
