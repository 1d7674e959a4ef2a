"""The cores that a process may use, and what its processor can do."""

import os
from pathlib import Path

import pytest

from finetune.inference.exported import this_machine as machine
from finetune.inference.exported.export_facts import MachineKind


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of control groups, on a machine with 16 cores."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr(machine, "CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "OF_PROCESS", tmp_path / "self")
    (tmp_path / "self").write_text("0::/service/job\n")
    (tmp_path / "service" / "job").mkdir(parents=True)
    return tmp_path


def test_the_affinity_counts_where_there_is_no_quota(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.usable_cores() == 16
    (groups / "service" / "job" / "cpu.max").write_text("max 100000\n")
    assert machine.usable_cores() == 16
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert machine.usable_cores() == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert machine.usable_cores() == 1


@pytest.mark.parametrize(
    ("of_job", "of_service", "cores"), [("250000", "max", 3), ("max", "400000", 4), ("5000", "max", 1)]
)
def test_a_quota_of_any_group_above_counts(groups: Path, of_job: str, of_service: str, cores: int) -> None:
    (groups / "service" / "job" / "cpu.max").write_text(f"{of_job} 100000\n")
    (groups / "service" / "cpu.max").write_text(f"{of_service} 100000\n")
    assert machine.usable_cores() == cores


def test_quotas_of_version_1(groups: Path) -> None:
    (groups / "self").write_text("9:name=systemd:/\n4:cpu,cpuacct:/docker\nnonsense\n")
    folder = groups / "cpu" / "docker"
    folder.mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text("150000\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    assert machine.usable_cores() == 2
    (folder / "cpu.cfs_quota_us").write_text("-1\n")
    assert machine.usable_cores() == 16


def test_the_instruction_sets_are_those_of_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "cpuinfo")
    assert machine.this_machine().instructions == ()
    (tmp_path / "cpuinfo").write_text("processor : 0\nflags : fpu avx2 avx512_vnni sse4_2\n")
    assert machine.this_machine().instructions == ("avx2", "avx512_vnni")


def test_x86_without_vnni_saturates() -> None:
    assert machine.saturates(MachineKind(machine="x86_64", instructions=("avx2", "avx512f")))
    assert not machine.saturates(MachineKind(machine="x86_64", instructions=("avx2", "avx_vnni")))
    assert not machine.saturates(MachineKind(machine="aarch64"))
