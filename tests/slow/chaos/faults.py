"""Faults in a process: at its n-th write below a folder it is killed, or the write raises an OSError.

A write is an event of Python's audit hooks (a file opened for writing, renamed or removed, a folder made or removed),
or a file that is synced.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
REMOVES = ("os.remove", "os.rmdir")  # which a full disk allows
NAMED = ("fsync", "os.rename", *REMOVES, "os.mkdir", "os.truncate", "os.link", "os.symlink")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """At write number `at` (from 1): kill the process, or raise an OSError of this number.

    A `lasting` error is raised at every later write too, as by a disk that stays full. With `most` the process is
    killed later, by the system, inside the write that makes a file larger than so many bytes: also that of a library in
    another language.
    """

    at: int
    errno: int | None = None
    lasting: bool = False
    most: int | None = None

    def __call__(self, number: int, event: str, path: str) -> None:
        """Does what it says, if it is its turn."""
        if number != self.at and not (self.lasting and number > self.at):
            return
        if self.most is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.most, self.most))
        elif self.errno is None:
            os.kill(os.getpid(), signal.SIGKILL)
        elif not (self.lasting and event in REMOVES):
            raise OSError(self.errno, os.strerror(self.errno), path)


def watch_writes(root: Path, log: Path, fault: Fault | None) -> None:
    """From now on, logs every write of this process below a folder, one a line, and does what the fault says."""
    opened = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    hook, sync = _hook(str(root), opened, fault), os.fsync

    def fsync(file: int) -> None:  # which has no audit event
        hook("fsync", (Path(f"/proc/self/fd/{file}").readlink(),))
        sync(file)

    sys.addaudithook(hook)
    if Path("/proc/self/fd").is_dir():
        os.fsync = fsync


def _hook(root: str, log: int, fault: Fault | None) -> Callable[[str, tuple[Any, ...]], None]:
    number = 0

    def hook(event: str, given: tuple[Any, ...]) -> None:
        nonlocal number
        if event != "open" and event not in NAMED:
            return
        if event == "open" and not (isinstance(given[2], int) and given[2] & WRITES):
            return
        if not isinstance(given[0], str | bytes | os.PathLike):
            return  # a file that is open
        path = os.path.abspath(os.fsdecode(given[0]))  # noqa: PTH100 (a Path would be slow)
        if not path.startswith(root):
            return
        number += 1
        os.write(log, f"{event} {path[len(root) + 1 :]}\n".encode())
        if fault is not None:
            fault(number, event, path)

    return hook
