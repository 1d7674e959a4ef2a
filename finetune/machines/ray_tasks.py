"""Tasks of Ray: how many at a time, the CPU cores and GPUs of each, and what became of one."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

import torch

from finetune.errors import UserError, first_line
from finetune.machines.cluster import ADDRESS, cluster
from finetune.machines.counts import require_numbers
from finetune.machines.place import Place

RETRIES = 10  # times that the work of a worker that died is started again; it resumes from what is on the disk


class Lost(Exception):
    """A task raises it, with the reason, where a process died that it had started: Ray repeats it as if it had died."""


@dataclass(frozen=True, kw_only=True)
class TaskSize:
    """The CPU cores, which are also the threads, and GPUs of a task."""

    cpus: int
    gpus: float

    def task(self, ray: Any, function: Callable[..., Any]) -> Any:
        """A function as a task of Ray, repeated where its worker dies or it raises Lost, up to RETRIES times in all;
        one process for each on a GPU, whose memory would else stay allocated.
        """
        once = 1 if self.gpus else 0
        return ray.remote(
            num_cpus=self.cpus, num_gpus=self.gpus, max_calls=once, max_retries=RETRIES, retry_exceptions=[Lost]
        )(function)

    def place(self) -> Place:
        """Where such a task works: in the folder of this process."""
        return Place(folder=Path.cwd(), threads=self.cpus, on_cpu=not self.gpus)

    def rooms(self, ray: Any) -> list[int]:
        """How many tasks of this size each machine has room for at a time."""
        return [
            int(min(self._share(node, "CPU", self.cpus), self._share(node, "GPU", self.gpus))) for node in _nodes(ray)
        ]

    @staticmethod
    def _share(node: dict[str, float], name: str, each: float) -> float:
        return _times(node.get(name, 0.0), each) if each else float("inf")


@dataclass(frozen=True, kw_only=True)
class RayTasks:
    """Ray tasks with so many CPU cores, and a GPU or a part of one each; at most `workers` at a time."""

    workers: int | None = None
    gpus_each: float | None = None
    cpus_each: int | None = None

    def __post_init__(self) -> None:
        """Raises UserError for numbers below 1, and for parts of several GPUs."""
        require_numbers(workers=self.workers, cpus_each=self.cpus_each)
        if self.gpus_each is not None and (self.gpus_each < 0 or (self.gpus_each > 1 and self.gpus_each % 1)):
            raise UserError(f"`gpus_each` is {self.gpus_each}", "Give a part of one GPU, such as 0.5, or whole ones")

    def cluster(self, shared: Path | None, *, remedy: str, processes: int = 1) -> AbstractContextManager[Any]:
        """`cluster` with room for the workers, each of so many `processes`, if it starts on this machine.

        Tasks on GPUs share all its cores.
        """
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        each = processes * (self.cpus_each or 1)
        shared_cores = self.cpus_each is None and self.gpus_each != 0 and torch.accelerator.is_available()
        least = cores if self.workers is None or shared_cores else 1
        return cluster(max(least, (self.workers or 1) * each), shared, remedy=remedy)

    def size(self, ray: Any) -> TaskSize:
        """The size of a task. Raises UserError where the cluster has no machine with as much."""
        nodes = _nodes(ray)
        most_gpus = max(node.get("GPU", 0.0) for node in nodes)
        gpus = self.gpus_each if self.gpus_each is not None else min(1.0, most_gpus)
        where = where_ray_is()
        if gpus > most_gpus:
            raise UserError(
                f"`gpus_each` is {gpus:g}, and {where} has {most_gpus:g} GPUs", "Give less, or leave it out"
            )
        per_machine = [node["CPU"] // max(1, _times(node["GPU"], gpus)) for node in nodes if gpus and node.get("GPU")]
        cpus = self.cpus_each or max(1, int(min(per_machine, default=1)))
        if cpus > (most := max(node.get("CPU", 0.0) for node in nodes)):
            raise UserError(f"`cpus_each` is {cpus}, and {where} has {most:g} CPU cores", "Give less, or leave it out")
        return TaskSize(cpus=cpus, gpus=gpus)


def ended(ray: Any, reference: Any, name: str) -> Any:
    """What a task returned; a UserError that begins with its `name` where Ray lost it, also when it was repeated.

    Raises what the task raised.
    """
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if not isinstance(error.cause, Lost):
            raise error.cause from error
        why = str(error.cause)
    except ray.exceptions.RayError as error:
        why = first_line(error)
    return UserError(
        f"{name}: no result after up to {RETRIES} retries ({why})",
        "The same command resumes it; if memory was short, give each more with fewer workers",
    )


def where_ray_is() -> str:
    """How an error names what has the resources."""
    return "the cluster" if os.environ.get(ADDRESS) else "this machine"


def _times(amount: float, each: float) -> int:
    """How many times `each` is in an amount, up to rounding: 0.2 is in 1 five times, although 1 // 0.2 is 4."""
    return floor(amount / each + 1e-9)


def _nodes(ray: Any) -> list[dict[str, float]]:
    """The resources of each machine."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]
