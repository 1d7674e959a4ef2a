"""A run that several Ray tasks train together, on one machine or several, and that is retried as a whole.

A placement group holds the room for all of them, and torch.distributed's own variables let them meet. Ray Train's
TorchTrainer does the same, but it retries errors of the user too, returns no value, and trains in a thread, where no
signal can ask for a checkpoint.
"""

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from finetune.data.messages import noun, so_many
from finetune.errors import UserError
from finetune.machines.ray_tasks import RETRIES, TaskSize, where_ray_is
from finetune.runs import interrupts
from finetune.training.executors.remote import Sent, SentJob, train_sent

TICK = 1.0  # seconds between looks at whether there is room, or all have ended
GRACE = 10.0  # seconds in which Ray notices that a process died, which the others notice at once


@dataclass(frozen=True, kw_only=True)
class GroupSize:
    """So many processes, each a task of this size, on each of so many machines."""

    processes: int
    machines: int
    each: TaskSize

    def at_once(self, ray: Any) -> int:
        """How many such groups there is room for. Raises UserError where there is none for one."""
        rooms = [room // self.processes for room in self.each.rooms(ray)]
        if (fitting := sum(room > 0 for room in rooms)) < self.machines:
            each = so_many(self.each.cpus, "CPU core") + (f" and {self.each.gpus:g} GPUs" if self.each.gpus else "")
            raise UserError(
                f"{self.processes} processes with {each} each need {so_many(self.machines, 'machine')} that"
                f" {noun(self.machines, 'has', 'have')} room for them, and {where_ray_is()} has {fitting or 'none'}",
                "Give fewer `processes` or `machines`, or less to each",
            )
        return max(1, sum(rooms) // self.machines)

    def bundles(self) -> list[dict[str, float]]:
        """What is needed of each machine."""
        needed = {"CPU": self.processes * float(self.each.cpus), "GPU": self.processes * self.each.gpus}
        return [{name: amount for name, amount in needed.items() if amount}] * self.machines


@dataclass(frozen=True, kw_only=True)
class Seat:
    """The place of a process in its group, whose first one listens at an address."""

    rank: int
    size: GroupSize
    host: str
    port: int

    def take(self) -> None:
        """Sets what torch.distributed and Accelerate read.

        A process on a GPU sees only its own, whose index is thus 0, whatever its rank.
        """
        processes = self.size.processes
        alone = self.size.each.gpus > 0
        os.environ |= {
            "MASTER_ADDR": self.host,
            "MASTER_PORT": str(self.port),
            "RANK": str(self.rank),
            "WORLD_SIZE": str(processes * self.size.machines),
            "LOCAL_RANK": "0" if alone else str(self.rank % processes),
            "LOCAL_WORLD_SIZE": "1" if alone else str(processes),
            "ACCELERATE_USE_CPU": str(not alone).lower(),
        }


def train_together(job: SentJob, size: GroupSize) -> Sent:
    """A task of Ray: starts the processes of a group, again where one died, and returns what the first one does.

    Raises KeyboardInterrupt after it was cancelled, once the processes have ended, and what is not the user's to fix.
    """
    for _ in range(RETRIES + 1):
        if (outcome := _attempt(job, size)) is not None:
            return outcome
    return UserError(
        f"{job.name}: a process of its group died {RETRIES + 1} times",
        "Give each more memory with fewer processes; the same command resumes it",
    )


def _attempt(job: SentJob, size: GroupSize) -> Sent | None:
    """What the first process returned, or the error of any; None where one died."""
    import ray
    from ray.util.placement_group import placement_group, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    room = placement_group(size.bundles(), strategy="STRICT_SPREAD")
    try:
        while not room.wait(TICK):
            pass
        there = [PlacementGroupSchedulingStrategy(room, index) for index in range(size.machines)]
        meet = ray.remote(num_cpus=0)(_meeting_place).options(scheduling_strategy=there[0])
        host, port = ray.get(meet.remote())
        task = ray.remote(num_cpus=size.each.cpus, num_gpus=size.each.gpus, max_retries=0, max_calls=1)(_train_seated)
        seats = [Seat(rank=rank, size=size, host=host, port=port) for rank in range(size.processes * size.machines)]
        members = [
            task.options(scheduling_strategy=there[seat.rank // size.processes]).remote(job, seat) for seat in seats
        ]
        return _outcome(ray, members)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError:  # a worker or machine died
        return None
    finally:
        remove_placement_group(room)  # which ends what is left of them


def _outcome(ray: Any, members: Sequence[Any]) -> Sent:
    """What the first process returns once all have ended, or the first error of one.

    Raises RayError where a process died, RayTaskError where one fails for another reason, and KeyboardInterrupt after
    all were asked to stop and have ended.
    """
    waiting = list(members)
    try:
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            for member in done:
                if isinstance(found := _value(ray, member, waiting), UserError):
                    return found
    except KeyboardInterrupt:
        _stop(ray, members)
        raise
    return ray.get(members[0])  # type: ignore[no-any-return]


def _stop(ray: Any, members: Sequence[Any]) -> None:
    """Asks all processes to stop, and waits until they have, and the first one has written the checkpoint."""
    for member in members:
        ray.cancel(member, recursive=False)
    waiting = list(members)
    while waiting:
        with suppress(KeyboardInterrupt):  # which Ray repeats every two seconds
            _, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=TICK)


def _value(ray: Any, member: Any, others: Sequence[Any]) -> Sent | None:
    """What a process returned. One that fails because another died raises that one's error."""
    try:
        return ray.get(member)  # type: ignore[no-any-return]
    except ray.exceptions.RayTaskError:
        ended, _ = ray.wait(list(others), num_returns=len(others), timeout=GRACE) if others else ([], [])
        for other in ended:
            try:
                ray.get(other)
            except ray.exceptions.RayTaskError:
                continue
        raise


def _train_seated(job: SentJob, seat: Seat) -> Sent | None:
    """A process of a group, which is a task of Ray; only the first one returns the run."""
    interrupts.repeat_is_one()
    seat.take()
    found = train_sent(job)
    return found if seat.rank == 0 or isinstance(found, UserError) else None


def _meeting_place() -> tuple[str, int]:
    """The address of this machine, and a port of it that is free now."""
    import ray

    host = ray.util.get_node_ip_address()
    with socket.socket() as free:
        free.bind((host, 0))
        return host, free.getsockname()[1]
