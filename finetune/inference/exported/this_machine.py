"""This machine: its instruction sets, and the cores that the process may use."""

import os
import platform
from contextlib import suppress
from pathlib import Path

from finetune.inference.exported.export_facts import MachineKind

# Of those that a Linux kernel lists, what decides how products of int8 are computed, and how exactly.
DECISIVE = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "amx_int8", "asimddp", "i8mm")
ADDS_PRODUCTS = {"avx_vnni", "avx512_vnni", "amx_int8", "asimddp", "i8mm"}  # of 8 bits, without saturation
X86 = ("x86_64", "AMD64", "i386", "i686")
CPU_INFO = Path("/proc/cpuinfo")


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
    """The cores that this process may use: of its affinity, and at most OMP_NUM_THREADS, as torch takes it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(asked))) if asked.isdecimal() else cores
