"""Facts about the machine and versions of a measurement."""

import os
from datetime import UTC, datetime
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
