"""A run that several Ray tasks train together, on one machine or several, and that is retried as a whole.

A placement group holds the room for all of them, and torch.distributed's own variables let them meet. Ray Train's
TorchTrainer does the same, but it retries errors of the user too, returns no value, and trains in a thread, where no
signal can ask for a checkpoint.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from torch.distributed import DistNetworkError, DistStoreError

from finetune.data.messages import noun, so_many
from finetune.errors import UserError, first_line
from finetune.machines.ray_tasks import Lost, TaskSize, where_ray_is
from finetune.runs import interrupts
from finetune.training.executors.remote import Sent, SentJob, train_sent

SECONDS_BETWEEN_LOOKS = 1.0  # seconds between looks at whether there is room
GRACE = 10.0  # seconds in which the other processes end, and Ray notices it, after one has failed
PATIENCE = 120.0  # seconds in which processes that are asked to stop end, and the first one writes its checkpoint
NOT_MET = (DistNetworkError, DistStoreError)  # such as a port that another program has taken meanwhile


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
        most = sum(rooms) // self.machines
        while sum(min(room, most) for room in rooms) < most * self.machines:  # a group is on a machine once
            most -= 1
        return most

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
        own_gpu = self.size.each.gpus > 0
        os.environ |= {
            "MASTER_ADDR": self.host,
            "MASTER_PORT": str(self.port),
            "RANK": str(self.rank),
            "WORLD_SIZE": str(processes * self.size.machines),
            "LOCAL_RANK": "0" if own_gpu else str(self.rank % processes),
            "LOCAL_WORLD_SIZE": "1" if own_gpu else str(processes),
        }


def train_together(job: SentJob, size: GroupSize) -> Sent:
    """A task of Ray: starts the processes of a group, and returns what the first one does, or the UserError of any.

    Raises Lost where one died or did not meet the others, after which Ray repeats the task; KeyboardInterrupt after it
    was cancelled, once the processes have ended; and what is not the user's to fix.
    """
    import ray

    interrupts.repeat_is_one()
    try:
        with _reserved(size, ray.get_runtime_context().get_task_id()) as room:
            return _outcome(ray, _members(ray, job, size, room))
    except ray.exceptions.RayError as error:
        raise _reason(ray, error) from error


@contextmanager
def _reserved(size: GroupSize, name: str) -> Iterator[Any]:
    """Room for a group, once it is free; at the end what is left of its processes is killed.

    `name` is that of the task, which has the same when it is repeated: it removes the room that it had taken if its
    process was killed, in which there may still be processes.
    """
    from ray.util import get_placement_group, placement_group, remove_placement_group

    with suppress(ValueError):  # there is none
        remove_placement_group(get_placement_group(name))
    room = placement_group(size.bundles(), strategy="STRICT_SPREAD", name=name)
    try:
        while not room.wait(SECONDS_BETWEEN_LOOKS):
            pass
        yield room
    finally:
        remove_placement_group(room)


def _members(ray: Any, job: SentJob, size: GroupSize, room: Any) -> list[Any]:
    """The processes of a group as tasks, by reference, each in its place."""
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    there = [PlacementGroupSchedulingStrategy(room, index) for index in range(size.machines)]
    meet = ray.remote(num_cpus=0)(_meeting_place).options(scheduling_strategy=there[0])
    host, port = ray.get(meet.remote())
    task = ray.remote(num_cpus=size.each.cpus, num_gpus=size.each.gpus, max_retries=0, max_calls=1)(_train_seated)
    seats = [Seat(rank=rank, size=size, host=host, port=port) for rank in range(size.processes * size.machines)]
    return [task.options(scheduling_strategy=there[seat.rank // size.processes]).remote(job, seat) for seat in seats]


def _outcome(ray: Any, members: Sequence[Any]) -> Sent:
    """What the first process returns once all have ended, or the first UserError of one.

    Raises RayError where a process died, RayTaskError where one fails for another reason, and KeyboardInterrupt after
    all were asked to stop.
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
    """Asks all processes to stop, and waits until they have, and the first one has written the checkpoint; not longer
    than PATIENCE.
    """
    with interrupts.deferred():  # Ray repeats its own request every two seconds
        for member in members:
            ray.cancel(member, recursive=False)
        ray.wait(list(members), num_returns=len(members), timeout=PATIENCE)


def _value(ray: Any, member: Any, others: Sequence[Any]) -> Sent | None:
    """What a process returned. Where it fails, which may be because another one has ended, the UserError of that one.

    Raises RayError where this one or another died, RayTaskError where it fails for another reason.
    """
    try:
        return ray.get(member)  # type: ignore[no-any-return]
    except ray.exceptions.RayError as error:
        ended, _ = ray.wait(list(others), num_returns=len(others), timeout=GRACE) if others else ([], [])
        errors = [error]
        for other in ended:
            try:
                if isinstance(found := ray.get(other), UserError):
                    return found
            except ray.exceptions.RayError as another:
                errors.append(another)
        died = [one for one in errors if not isinstance(one, ray.exceptions.RayTaskError)]
        raise (died or errors)[0] from None


def _reason(ray: Any, error: Any) -> BaseException:
    """Lost where a process died or did not meet the others, else what it raised."""
    if not isinstance(error, ray.exceptions.RayTaskError):
        return Lost(first_line(error))
    cause: BaseException = error.cause
    return Lost(first_line(cause)) if isinstance(cause, NOT_MET) else cause


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
