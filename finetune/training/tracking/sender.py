"""A thread that sends to one tracker, which may fail, hang, or be slow: the run never waits for it."""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from finetune.errors import first_line
from finetune.training.tracking.libraries import Library, TrackedRun

FAILURES = 3  # after which a tracker is left out
CALL_SECONDS = 30.0  # after which a call counts as hung
PAUSE_SECONDS = 1.0  # before it is opened again
MOST_WAITING = 1_000  # messages; what comes after them is left out

Send = Callable[[Any], None]  # sends a message through Accelerate's tracker


class Sender(threading.Thread):
    """Opens a tracker, sends what is put, in order, and closes it. A daemon: a hung one does not outlive the process.

    `trouble` is why the tracker was given up, empty while it works; then nothing more is sent.
    """

    def __init__(self, library: Library, run: TrackedRun) -> None:
        super().__init__(name=f"track-{library.name}", daemon=True)
        self.library, self.tracked = library, run
        self.waiting: SimpleQueue[Send | None] = SimpleQueue()
        self.errors: list[str] = []
        self.unsent = 0
        self.trouble = ""
        self.since: float | None = None  # the start of the call under way
        self.closing = threading.Event()

    def put(self, send: Send) -> None:
        """Sends it soon, unless too much waits already."""
        if self.waiting.qsize() >= MOST_WAITING:
            self.unsent += 1
        elif not self.trouble:
            self.waiting.put(send)

    def close(self) -> None:
        """Ends the thread when all is sent; does not wait for it."""
        self.closing.set()
        self.waiting.put(None)

    def look(self) -> str:
        """Why the tracker is given up, once after it is; else empty."""
        since, before = self.since, self.trouble
        if before:
            return ""
        if len(self.errors) >= FAILURES:
            self.trouble = self.errors[-1]
        elif since is not None and time.monotonic() - since > CALL_SECONDS:
            self.trouble = f"it has not answered for {CALL_SECONDS:g} s"
        if self.trouble:
            self.library.give_up()
        return self.trouble

    def give_up(self, why: str) -> None:
        """Sends nothing more, and lets the library end without waiting."""
        self.trouble = why
        self.library.give_up()

    def run(self) -> None:
        """The thread: until it is closed, or the tracker is given up."""
        tracker = self._opened()
        if tracker is None:
            return
        while not self._is_given_up() and (send := self.waiting.get()) is not None:
            if not self._is_given_up() and not self._try(lambda send=send: send(tracker)):  # type: ignore[misc]
                self.unsent += 1
        if not self._is_given_up():
            self._try(tracker.finish)

    def _opened(self) -> Any:
        """The tracker, after up to three attempts; None if there is none."""
        found: list[Any] = []
        while not self._is_given_up():
            if self._try(lambda: found.append(self.library.opened(self.tracked))):
                return found[0]
            self.closing.wait(PAUSE_SECONDS)
        return None

    def _is_given_up(self) -> bool:
        return bool(self.trouble) or len(self.errors) >= FAILURES

    def _try(self, call: Callable[[], Any]) -> bool:
        """Whether a call succeeded; what it raises is kept as a line."""
        self.since = time.monotonic()
        try:
            call()
        except (Exception, SystemExit) as error:  # whatever a library raises
            self.errors.append(first_line(error))
            return False
        finally:
            self.since = None
        return True
