"""Events: how a run tells whoever watches what it does, and the log that keeps them."""

import json
import time
from pathlib import Path
from typing import Any, Protocol


class Watcher(Protocol):
    """Whoever follows a run: a progress display, the log, a test."""

    def __call__(self, event: str, **facts: Any) -> None:
        """Called at every event with its facts."""


def unwatched(event: str, **facts: Any) -> None:
    """Watches nothing."""


class EventLog:
    """Appends each event with the seconds since 1970, one JSON object a line, then passes it on."""

    def __init__(self, file: Path, *, then: Watcher) -> None:
        self.file = file
        self.then = then

    def __call__(self, event: str, **facts: Any) -> None:
        """Writes one line, but for the steps of predicting and encoding, which only a display wants."""
        if event not in ("predicted", "encoded"):
            with self.file.open("a", encoding="utf-8") as opened:
                opened.write(json.dumps({"time": round(time.time(), 3), "event": event, **facts}) + "\n")
        self.then(event, **facts)
