"""Processes that a process has started, also through others, and those of Ray's tasks."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def started(folder: Path, data: Path, *arguments: str, threads: int = 1) -> "subprocess.Popen[str]":
    """The command line in the background, with so many threads."""
    return subprocess.Popen(
        [sys.executable, "-m", "finetune", *arguments],
        cwd=folder,
        env=os.environ | {"FINETUNE_DATA": str(data), "OMP_NUM_THREADS": str(threads), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def below(process: int) -> list[int]:
    """The processes that a process, or one of these, has started."""
    children = [int(child) for child in _file(process, f"task/{process}/children").split()]
    return [*children, *(one for child in children for one in below(child))]


def ray_tasks(command: int, function: str) -> list[int]:
    """The processes that run a function as a task of Ray for a command."""
    return [process for process in below(command) if f"ray::{function}".encode() in _file(process, "cmdline")]


def is_running(process: int) -> bool:
    """Whether a process is there, and has not ended."""
    return bool(_file(process, "cmdline"))


def soon(true: Callable[[], object], seconds: float = 120.0) -> bool:
    """Whether it becomes true within so many seconds."""
    until = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < until:
        time.sleep(0.02)
    return bool(found)


def _file(process: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:  # it has ended
        return b""
