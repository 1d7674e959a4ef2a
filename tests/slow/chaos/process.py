"""The command line in a forked child of a process that has imported all libraries, with a fault at one of its writes.

A write is an event of Python's audit hooks (a file opened for writing, renamed or removed, a folder made or removed),
or a file that is synced. Only one thread of a process may use this module.
"""

import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 240.0  # until a command counts as hanging
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
REMOVALS = ("os.remove", "os.rmdir")  # which a full disk allows
EVENTS = ("fsync", "os.rename", *REMOVALS, "os.mkdir", "os.truncate", "os.link", "os.symlink")
LIBRARIES = [
    *("torch", "transformers", "accelerate", "sklearn.linear_model", "pyarrow.parquet", "scipy.stats", "jinja2"),
    *(f"finetune.{name}" for name in ("cli.app", "training.run_many", "commands.run", "commands.predict")),
    *("finetune.commands.check", "finetune.commands.report"),
]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """At write number `at` (from 1): kill the process, or raise an OSError of this number.

    A `lasting` error is raised at every later write too, as by a disk that stays full. With `most_bytes` the system
    kills the process later, inside a write that makes a file larger than this: also one of a library in C.
    """

    at: int
    errno: int | None = None
    lasting: bool = False
    most_bytes: int | None = None

    def __call__(self, number: int, event: str, path: str) -> None:
        """Strikes, if it is its turn."""
        if number != self.at and not (self.lasting and number > self.at):
            return
        if self.most_bytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.most_bytes, self.most_bytes))
        elif self.errno is None:
            os.kill(os.getpid(), signal.SIGKILL)
        elif not (self.lasting and event in REMOVALS):
            raise OSError(self.errno, os.strerror(self.errno), path)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """How a command ended: its exit code (negative for a signal, None if it hung), output, seconds and writes."""

    arguments: Sequence[str]
    code: int | None
    out: str
    err: str
    seconds: float
    writes: Sequence[str]


@dataclass(kw_only=True)
class Running:
    """A command that runs; its output goes into files."""

    arguments: Sequence[str]
    process: Any
    logs: Path
    started: float = field(default_factory=time.monotonic)

    def kill_after(self, seconds: float, number: int = signal.SIGKILL) -> None:
        """Sends a signal so many seconds after the command began; without effect if it has ended."""
        while not (self.logs / "begun").exists() and self.process.exitcode is None:
            self.process.join(0.01)
        time.sleep(seconds)
        if self.process.exitcode is None:
            os.kill(self.process.pid, number)

    def wait(self) -> Attempt:
        """Waits until it ends; one that takes too long is killed."""
        self.process.join(max(0.0, self.started + SECONDS - time.monotonic()))
        code, seconds = self.process.exitcode, time.monotonic() - self.started
        if code is None:
            self.process.kill()
        texts = [
            file.read_text(encoding="utf-8", errors="replace") if (file := self.logs / name).is_file() else ""
            for name in ("out", "err", "writes")
        ]
        shutil.rmtree(self.logs)
        return Attempt(
            arguments=self.arguments, code=code, out=texts[0], err=texts[1], seconds=seconds,
            writes=texts[2].splitlines(),
        )  # fmt: skip


def start(place: Path, *arguments: str, fault: Fault | None = None) -> Running:
    """Starts `finetune ...` in a folder."""
    logs = place.parent / f"logs-{uuid.uuid4().hex}"
    logs.mkdir(parents=True)
    process = forks().Process(target=_child, args=(place, logs, arguments, fault))
    process.start()
    return Running(arguments=arguments, process=process, logs=logs)


def finetune(place: Path, *arguments: str, fault: Fault | None = None) -> Attempt:
    """Runs `finetune ...` in a folder to its end."""
    return start(place, *arguments, fault=fault).wait()


@cache
def forks() -> Any:
    """The process that has imported the libraries, which starts with the first command."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    return context


def _child(place: Path, logs: Path, arguments: Sequence[str], fault: Fault | None) -> None:
    """The command line as `main` runs it: caches in the folder, one thread, no network, its output in files."""
    os.setsid()
    for name in [name for name in os.environ if name.startswith(("FINETUNE_", "HF_"))]:
        del os.environ[name]
    os.environ |= {
        "HOME": str(place / "home"), "HF_HOME": str(place / "hf"), "FINETUNE_CACHE": str(place / "cache"),
        "FINETUNE_DATA": str(place), "COLUMNS": "200", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
        "ACCELERATE_USE_CPU": "true",
    }  # fmt: skip
    os.chdir(place)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(logs / name, os.O_WRONLY | os.O_CREAT), number)
    sys.argv = ["finetune", *arguments]
    import torch

    from finetune.cli.app import main

    torch.set_num_threads(1)
    _watch_writes(place, logs / "writes", fault)
    (logs / "begun").touch()
    main()


def _watch_writes(root: Path, log: Path, fault: Fault | None) -> None:
    """From now on, logs every write of this process below a folder, one a line, and lets the fault strike."""
    opened, sync = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), os.fsync
    hook = _audit_hook(str(root), opened, fault)

    def fsync(file: int) -> None:  # which has no audit event
        hook("fsync", (Path(f"/proc/self/fd/{file}").readlink(),))
        sync(file)

    sys.addaudithook(hook)
    os.fsync = fsync


def _audit_hook(root: str, log: int, fault: Fault | None) -> Callable[[str, tuple[Any, ...]], None]:
    number = 0

    def hook(event: str, details: tuple[Any, ...]) -> None:
        nonlocal number
        if event == "open":
            if not (isinstance(details[2], int) and details[2] & WRITING):
                return
        elif event not in EVENTS:
            return
        if not isinstance(details[0], str | bytes | os.PathLike):
            return  # a file that is open
        path = os.path.abspath(os.fsdecode(details[0]))  # noqa: PTH100 (a Path would be slow)
        if path.startswith(root):
            number += 1
            os.write(log, f"{event} {path[len(root) + 1 :]}\n".encode())
            if fault is not None:
                fault(number, event, path)

    return hook
