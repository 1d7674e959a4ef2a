"""Facts about the machine and versions of a measurement."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from finetune.runs import environment


def facts() -> dict[str, Any]:
    """Time, commit, versions and CPU; `load_before`, if above 0, is from other processes."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": environment.git_commit(),
        "versions": environment.versions(),
        "cpu": {
            "name": environment.cpu_name(),
            "capability": torch.backends.cpu.get_cpu_capability(),
            "threads": torch.get_num_threads(),
            "load_before": os.getloadavg()[0],
        },
    }


def memory(process: int | str = "self") -> dict[str, int]:
    """Bytes of memory of a process on Linux, as its status has them: `VmHWM` is the most that was resident, `RssAnon`
    what is now without mapped files. Empty once it has ended.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    fields = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): 1024 * int(value) for name, value, _ in fields}


def reset_peak() -> None:
    """Makes `VmHWM` count from here."""
    Path("/proc/self/clear_refs").write_text("5")
