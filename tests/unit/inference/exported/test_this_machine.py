"""The cores that a process may use, and what its processor can do."""

import os
from pathlib import Path

import pytest

from finetune.inference.exported import export_facts
from finetune.inference.exported.engine import usable_cores
from finetune.inference.exported.export_facts import MachineKind, this_machine


def test_affinity_and_threads_limit_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert usable_cores() == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert usable_cores() == 1


def test_the_instruction_sets_are_those_of_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_facts, "CPU_INFO", tmp_path / "cpuinfo")
    assert this_machine().instructions == ()
    (tmp_path / "cpuinfo").write_text("processor : 0\nflags : fpu avx2 avx512_vnni sse4_2\n")
    assert this_machine().instructions == ("avx512_vnni",)


def test_x86_without_vnni_saturates() -> None:
    assert MachineKind(machine="x86_64", instructions=("avx2", "avx512f")).saturates
    assert not MachineKind(machine="x86_64", instructions=("avx2", "avx_vnni")).saturates
    assert not MachineKind(machine="aarch64").saturates
