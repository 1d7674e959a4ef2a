"""Tasks of Ray: how many fit, on which device they work, and what becomes of those that are lost."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from support.fake_ray import FakeRay, exceptions, machines, task_error

from finetune.errors import UserError
from finetune.machines import ray_tasks
from finetune.machines.cluster import cluster
from finetune.machines.place import Place
from finetune.machines.ray_tasks import RETRIES, Lost, RayTasks, TaskSize, ended
from finetune.models.device import resolve_device


@pytest.mark.parametrize(("part", "tasks"), [(0.1, 10), (0.2, 5), (0.3, 3), (0.5, 2), (1.0, 1)])
def test_no_part_of_a_gpu_is_lost_to_rounding(part: float, tasks: int) -> None:
    ray = machines({"CPU": 60.0, "GPU": 1.0})
    size = RayTasks(gpus_each=part).size(ray)
    assert (size.gpus, size.cpus) == (part, 60 // tasks)
    assert TaskSize(cpus=1, gpus=part).rooms(ray) == [tasks]


@pytest.mark.parametrize(
    ("tasks", "gpu", "cores"),
    [
        (RayTasks(), False, 16),
        (RayTasks(workers=2), False, 2),
        (RayTasks(workers=2), True, 16),
        (RayTasks(workers=2, gpus_each=0.5), True, 16),
        (RayTasks(workers=20), True, 20),
        (RayTasks(workers=2, gpus_each=0), True, 2),
        (RayTasks(workers=2, cpus_each=3), True, 6),
        (RayTasks(workers=8, cpus_each=3), True, 24),
    ],
    ids=str,
)
def test_tasks_on_gpus_share_all_cores_of_this_machine(
    tasks: RayTasks, gpu: bool, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: gpu)
    monkeypatch.setattr(ray_tasks, "cluster", lambda cpus, shared, *, remedy: cpus)
    assert tasks.cluster(None, remedy="") == cores


def test_a_task_without_a_gpu_works_on_the_cpu_of_a_machine_with_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "false")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    for gpus, device in ((0.5, "cuda"), (0.0, "cpu")):
        TaskSize(cpus=torch.get_num_threads(), gpus=gpus).place().enter()
        assert resolve_device(None).type == device
    assert resolve_device("cuda").type == "cuda"
    assert not Place(folder=Path.cwd(), threads=1).on_cpu


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (exceptions.WorkerCrashedError(), "died unexpectedly"),
        (exceptions.NodeDiedError("its machine went away"), "its machine went away"),
        (exceptions.OutOfMemoryError("memory is low"), "memory is low"),
        (exceptions.TaskCancelledError(), "TaskCancelledError"),
        (task_error(Lost("of its group one died")), "(of its group one died)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_task_that_ray_lost_is_a_line_with_the_last_reason(error: Exception, words: str) -> None:
    found = ended(FakeRay(task=error), "task", "glue-rte")
    assert isinstance(found, UserError)
    assert str(found).startswith("glue-rte: ")
    assert words in found.what


def test_what_a_task_returns_or_raises_is_not_changed() -> None:
    assert ended(FakeRay(task=7), "task", "glue-rte") == 7
    with pytest.raises(KeyError, match="lacks"):
        ended(FakeRay(task=task_error(KeyError("lacks"))), "task", "glue-rte")


@pytest.mark.nightly
def test_deaths_and_lost_processes_are_counted_together(tmp_path: Path) -> None:
    def always_lost(folder: Path) -> Any:
        number = len(list(folder.iterdir()))
        (folder / str(number)).touch()
        if number % 4 == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        raise Lost(f"for the reason {number}")

    with cluster(1, None, remedy="") as ray:
        task = TaskSize(cpus=1, gpus=0).task(ray, always_lost)
        found = ended(ray, task.remote(tmp_path), "glue-rte")
    assert len(list(tmp_path.iterdir())) == RETRIES + 1
    assert isinstance(found, UserError)
    assert f"for the reason {RETRIES}" in found.what
