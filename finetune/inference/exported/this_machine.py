"""This machine: its instruction sets, and the cores that the process may use."""

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import ceil
from pathlib import Path

from finetune.inference.exported.export_facts import MachineKind

# Of those that a Linux kernel lists, what decides how products of int8 are computed, and how exactly.
DECISIVE = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "amx_int8", "asimddp", "i8mm")
ADDS_PRODUCTS = {"avx_vnni", "avx512_vnni", "amx_int8", "asimddp", "i8mm"}  # of 8 bits, without saturation
X86 = ("x86_64", "AMD64", "i386", "i686")
CPU_INFO, CGROUPS, OF_PROCESS = Path("/proc/cpuinfo"), Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def this_machine() -> MachineKind:
    """The architecture of this machine and its decisive instruction sets, which Linux alone tells."""
    found: set[str] = set()
    with suppress(OSError):
        lines = CPU_INFO.read_text(encoding="utf-8").splitlines()
        found = set(next((line for line in lines if line.startswith(("flags", "Features"))), "").split())
    return MachineKind(machine=platform.machine(), instructions=tuple(name for name in DECISIVE if name in found))


def saturates(machine: MachineKind) -> bool:
    """Whether products of 8 bits overflow on a processor: an x86 without VNNI adds two of them in 16 bits."""
    return machine.machine in X86 and not ADDS_PRODUCTS & set(machine.instructions)


def usable_cores() -> int:
    """The cores that this process may use: of its affinity, within its control group's quota, and at most
    OMP_NUM_THREADS, as torch takes it.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    limits = [*_quotas(), *([int(asked)] if asked.isdecimal() else [])]
    return max(1, min([cores, *limits]))


def _quotas() -> Iterator[int]:
    """The cores that each control group of this process allows, its own and those above it."""
    groups = []
    with suppress(OSError):
        groups = OF_PROCESS.read_text(encoding="utf-8").splitlines()
    for number, controllers, path in (line.split(":", 2) for line in groups if line.count(":") >= 2):
        if number == "0":  # version 2
            yield from _up(CGROUPS, path, _of_version_2)
        elif "cpu" in controllers.split(","):
            yield from _up(CGROUPS / "cpu", path, _of_version_1)


def _up(root: Path, path: str, quota: Callable[[Path], int | None]) -> Iterator[int]:
    """The quotas of a control group and of those above it, of which the least counts."""
    own = root / path.strip("/")
    for folder in (own, *own.parents):
        with suppress(OSError, ValueError, ZeroDivisionError):
            if (found := quota(folder)) is not None:
                yield found
        if folder == root:
            return


def _of_version_2(folder: Path) -> int | None:
    most, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
    return None if most == "max" else ceil(int(most) / int(period))


def _of_version_1(folder: Path) -> int | None:
    most = int((folder / "cpu.cfs_quota_us").read_text(encoding="utf-8"))
    period = int((folder / "cpu.cfs_period_us").read_text(encoding="utf-8"))
    return None if most < 0 else ceil(most / period)
