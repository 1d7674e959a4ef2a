"""Processes that a process has started."""

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


def soon(true: Callable[[], object], seconds: float = 120.0) -> bool:
    """Whether it becomes true within so many seconds."""
    until = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < until:
        time.sleep(0.02)
    return bool(found)
