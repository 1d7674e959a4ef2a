"""SIGTERM and Ctrl-C: while they are deferred, the first asks the work to stop where nothing is lost."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)
SAME = 1.0  # seconds in which signals are one request: a launcher repeats those that its whole group has received
_asked: list[tuple[signal.Signals, float]] = []  # with its time; of the process, as signals are


class Interrupted(BaseException):
    """A signal stopped the work; `where` says at which point, and what is saved."""

    def __init__(self, number: int, where: str = "") -> None:
        self.number = number
        self.where = where
        super().__init__(number, where)

    @property
    def exit_code(self) -> int:
        """128 and the signal's number, as shells report it."""
        return 128 + self.number

    def __str__(self) -> str:
        name = "Ctrl-C" if self.number == signal.SIGINT else signal.Signals(self.number).name
        return f"stopped by {name} {self.where}".strip()


class Stopping(Exception):
    """The work ends where nothing is half done, because a signal has asked to stop."""

    @property
    def number(self) -> int:
        """The signal's number; SIGTERM where another process received it."""
        return _asked[0][0] if _asked else signal.SIGTERM


@contextmanager
def raised() -> Iterator[None]:
    """Makes a signal raise Interrupted at once, so that files are closed and scratch files removed."""
    with _handled_by(_raise):
        yield


@contextmanager
def deferred() -> Iterator[None]:
    """Makes the first signal a request that `asked` returns and `stop_if_asked` obeys; a second stops at once."""
    with _handled_by(_remember):
        try:
            yield
        finally:
            _asked.clear()


def asked() -> bool:
    """Whether a signal has asked to stop."""
    return bool(_asked)


def stop_if_asked() -> None:
    """Raises Stopping if a signal has asked to stop."""
    if _asked:
        raise Stopping


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Without effect outside the main thread, where Python handles no signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _raise(number: int, _: FrameType | None) -> None:
    raise Interrupted(number)


def _remember(number: int, frame: FrameType | None) -> None:
    now = time.monotonic()
    if not _asked:
        _asked.append((signal.Signals(number), now))
    elif now - _asked[0][1] > SAME:
        _raise(number, frame)
