"""The cores that a process may use, and what its processor can do."""

import os
from pathlib import Path

import pytest

from finetune.inference.exported import this_machine as machine
from finetune.inference.exported.export_facts import MachineKind


def test_affinity_and_threads_limit_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert machine.usable_cores() == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert machine.usable_cores() == 1


def test_the_instruction_sets_are_those_of_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "cpuinfo")
    assert machine.this_machine().instructions == ()
    (tmp_path / "cpuinfo").write_text("processor : 0\nflags : fpu avx2 avx512_vnni sse4_2\n")
    assert machine.this_machine().instructions == ("avx2", "avx512_vnni")


def test_x86_without_vnni_saturates() -> None:
    assert machine.saturates(MachineKind(machine="x86_64", instructions=("avx2", "avx512f")))
    assert not machine.saturates(MachineKind(machine="x86_64", instructions=("avx2", "avx_vnni")))
    assert not machine.saturates(MachineKind(machine="aarch64"))
