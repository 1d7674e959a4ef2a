"""Runs the command line in a forked child of a process that has imported all libraries, in a second instead of seven.

Or in a new Python process. Only one thread of a process may use this module.
"""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from slow.chaos.faults import Fault, watch_writes

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 240.0  # seconds until a command counts as hanging
LIBRARIES = [
    *("torch", "transformers", "accelerate", "sklearn.linear_model", "pyarrow.parquet", "scipy.stats", "jinja2"),
    *(
        "finetune.cli.app",
        "finetune.commands.run",
        "finetune.commands.predict",
        "finetune.commands.check",
        "finetune.commands.report",
    ),
    "finetune.training.run_many",
]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """How a command ended: its exit code (negative for a signal, None if it hung), output, seconds and writes."""

    arguments: Sequence[str]
    code: int | None
    out: str
    err: str
    seconds: float
    writes: Sequence[str] = ()


@dataclass(kw_only=True)
class Running:
    """A command that runs; its output goes into files."""

    arguments: Sequence[str]
    process: Any
    logs: Path
    started: float = field(default_factory=time.monotonic)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal; without effect if the command has ended."""
        if self._ended(0) is None:
            os.kill(self.process.pid, number)

    def kill_after(self, delay: float, number: int = signal.SIGKILL) -> float:
        """Sends a signal so many seconds after a forked child began its command; the time when it was sent."""
        forked = not isinstance(self.process, subprocess.Popen)
        while forked and not (self.logs / "begun").exists() and self._ended(0.01) is None:
            pass
        time.sleep(delay)
        self.kill(number)
        return time.monotonic()

    def wait(self, limit: float = LIMIT) -> Attempt:
        """Waits until it ends; one that takes too long is killed."""
        code = self._ended(max(0.0, self.started + limit - time.monotonic()))
        if code is None:
            self.kill()
            self._ended(30)
        texts = {name: _text(self.logs / name) for name in ("out", "err", "writes")}
        seconds = time.monotonic() - self.started
        shutil.rmtree(self.logs, ignore_errors=True)
        return Attempt(
            arguments=self.arguments, code=code, out=texts["out"], err=texts["err"], seconds=seconds,
            writes=texts["writes"].splitlines(),
        )  # fmt: skip

    def ended_within(self, seconds: float) -> bool:
        """Whether it ends in so many seconds."""
        return self._ended(seconds) is not None

    def _ended(self, seconds: float) -> int | None:
        if isinstance(self.process, subprocess.Popen):
            try:
                return self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
        self.process.join(seconds)
        return self.process.exitcode


def environment(place: Path) -> dict[str, str]:
    """What a command in a folder sees: caches and scratch files there, one thread, no network."""
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "PYTHONPATH", "LD_LIBRARY_PATH")}
    return kept | {
        "HOME": str(place / "home"), "HF_HOME": str(place / "hf"), "FINETUNE_CACHE": str(place / "cache"),
        "FINETUNE_DATA": str(place), "COLUMNS": "200", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false", "MPLCONFIGDIR": "/tmp", "ACCELERATE_USE_CPU": "true",
    }  # fmt: skip


def start(place: Path, *arguments: str, fault: Fault | None = None) -> Running:
    """Starts `finetune ...` in a folder, in a forked child."""
    logs = _logs(place)
    process = _forks().Process(target=_finetune, args=(place, logs, arguments, fault))
    process.start()
    return Running(arguments=arguments, process=process, logs=logs)


def start_new(place: Path, *arguments: str, launcher: Sequence[str] = (), **variables: str) -> Running:
    """Starts `python -m finetune ...` in a folder, in a new process group; perhaps through a launcher's arguments."""
    logs = _logs(place)
    with (logs / "out").open("wb") as out, (logs / "err").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, *launcher, "-m", "finetune", *arguments], cwd=place, env=environment(place) | variables,
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
        )  # fmt: skip
    return Running(arguments=arguments, process=process, logs=logs)


def finetune(place: Path, *arguments: str, fault: Fault | None = None) -> Attempt:
    """Runs `finetune ...` in a folder to its end."""
    return start(place, *arguments, fault=fault).wait()


def call(function: Callable[..., None], *given: Any) -> None:
    """Runs a function in a forked child, where torch is. Raises RuntimeError if it fails."""
    with tempfile.NamedTemporaryFile() as log:
        process = _forks().Process(target=_quietly, args=(Path(log.name), function, *given))
        process.start()
        process.join()
        if process.exitcode:
            raise RuntimeError(f"{function.__name__} ended with {process.exitcode}: {_text(Path(log.name))[-2000:]}")


@cache
def _forks() -> Any:
    """The process that has imported the libraries, which starts with the first command."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(LIBRARIES)
    return forks


def _logs(place: Path) -> Path:
    logs = place.parent / f"logs-{uuid.uuid4().hex}"
    logs.mkdir(parents=True)
    return logs


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _redirect(number: int, file: Path) -> None:
    """Lets standard output, 1, or error, 2, go into a file."""
    os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)


def _quietly(log: Path, function: Callable[..., None], *given: Any) -> None:
    _redirect(1, log)
    _redirect(2, log)
    function(*given)


def _finetune(place: Path, logs: Path, arguments: Sequence[str], fault: Fault | None) -> None:
    """The child: the command line as `main` runs it, in a new process group, its output in files."""
    os.setsid()
    variables = environment(place)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(place)
    _redirect(1, logs / "out")
    _redirect(2, logs / "err")
    sys.argv = ["finetune", *arguments]
    import torch

    from finetune.cli.app import main

    torch.set_num_threads(1)
    watch_writes(place, logs / "writes", fault)
    (logs / "begun").touch()
    main()
