"""This process: the versions, commit and processor that it runs with, and the signals that stop its work.

While SIGTERM and Ctrl-C are deferred, the first asks the work to stop where nothing is lost. The command line takes
both. In another program (a script, a notebook) only Ctrl-C is deferred, only while a run trains, and only if Python
itself would have turned it into KeyboardInterrupt: a program's own handlers stay.
"""

import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from finetune.version import __version__

LIBRARIES = ("torch", "transformers", "tokenizers", "accelerate", "datasets", "scikit-learn", "numpy")
SIGNALS = (signal.SIGTERM, signal.SIGINT)
SAME = 1.0  # seconds in which signals are one request: a launcher repeats signals that its whole group has received
AGAIN = 0.05  # seconds after which a signal is sent again whose exception Python ignored
_raised: list[int] = []  # signals for which Interrupted was raised
_asked: list[tuple[signal.Signals, float]] = []  # with its time; of the process, as signals are
Handler = Callable[[int, FrameType | None], None]


def first_process() -> bool:
    """Whether this process is the one that prints and writes (rank 0 of a launcher)."""
    return os.environ.get("RANK", "0") == "0"


def versions() -> dict[str, str]:
    """The versions of Python, of this package, and of the LIBRARIES that are installed as distributions."""
    from importlib.metadata import PackageNotFoundError, version  # with email, for a command that needs neither

    installed = {"python": platform.python_version(), "bert-finetune": __version__}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def git_commit() -> str | None:
    """The commit of a checkout of this package, with `+` when files differ from it; None for an installed one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "--short=12", "HEAD")
    return commit and commit + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def cpu_name() -> str:
    """The name of the processor, as Linux or Python knows it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.is_file() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


class Interrupted(BaseException):
    """A signal stopped the work; `where` names the point, and the saved checkpoint."""

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


def install() -> None:
    """Makes a signal raise Interrupted at once, so that files are closed and scratch files removed."""
    _raised.clear()
    _set_handlers(_raise, SIGNALS)


def installed() -> bool:
    """Whether `install` was called, as the command line does and a caller from Python does not."""
    return signal.getsignal(signal.SIGTERM) in (_raise, _remember)


def ignore() -> None:
    """Ignores signals from here on, for a command that has done its work and only exits."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def held() -> Iterator[None]:
    """Holds a signal back until the end, for imports: C code turns an exception into an ImportError, or ignores it."""
    with deferred():
        yield
        numbers = [number for number, _ in _asked]
    if numbers:
        raise Interrupted(numbers[0])


def stopped_by() -> Interrupted | None:
    """The exception of the last signal, which other code may have turned into another one; None without a signal."""
    return Interrupted(_raised[-1]) if _raised else None


@contextmanager
def deferred() -> Iterator[None]:
    """Makes the first signal a request that `asked` returns and `stop_if_asked` obeys; a second stops at once.

    Without effect outside the main thread, where Python handles no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hook = sys.unraisablehook
    before = _set_handlers(_remember, [number for number in SIGNALS if _may_take(number)])
    try:
        yield
    finally:
        _asked.clear()
        sys.unraisablehook = hook
        for number, earlier in before.items():
            signal.signal(number, earlier)


def asked() -> bool:
    """Whether a signal has asked to stop."""
    return bool(_asked)


def stop_if_asked() -> None:
    """Raises Stopping if a signal has asked to stop."""
    if _asked:
        raise Stopping


def _may_take(number: signal.Signals) -> bool:
    current = signal.getsignal(number)
    return current in (_raise, _remember) or (number == signal.SIGINT and current is signal.default_int_handler)


def _set_handlers(handler: Handler, numbers: Sequence[signal.Signals]) -> dict[signal.Signals, Any]:
    """Sets the handler of these signals, also where one is called in a `__del__`; returns the handlers before."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda ignored: _sent_again(ignored.exc_value) or hook(ignored)
    return {number: signal.signal(number, handler) for number in numbers}


def _raise(number: int, _: FrameType | None) -> None:
    _raised.append(number)
    raise Interrupted(number)


def _sent_again(error: BaseException | None) -> bool:
    """Sends a signal again whose handler was called in a `__del__`, which ignores exceptions."""
    if not isinstance(error, Interrupted):
        return False
    timer = threading.Timer(AGAIN, os.kill, (os.getpid(), error.number))
    timer.daemon = True
    timer.start()
    return True


def _remember(number: int, frame: FrameType | None) -> None:
    now = time.monotonic()
    if not _asked:
        _asked.append((signal.Signals(number), now))
    elif now - _asked[0][1] > SAME:
        _raise(number, frame)
