"""Runs that several Ray tasks train together: how many fit, their places, and which of several errors counts."""

import os
import pickle
import socket
from datetime import timedelta
from typing import Any

import pytest
from support.fake_ray import FakeRay, exceptions, machines, task_error
from torch.distributed import TCPStore

from finetune.errors import UserError
from finetune.machines.ray_tasks import Lost, TaskSize
from finetune.training.executors import group
from finetune.training.executors.group import GroupSize, Seat

NO_DATA = UserError("glue-cola: no data", "Give --data")
GLOO = task_error(RuntimeError("gloo: connection closed by peer"))
DIED = exceptions.WorkerCrashedError()


def size(processes: int, machines: int, *, gpus: float = 0) -> GroupSize:
    """A group whose processes have one core each."""
    return GroupSize(processes=processes, machines=machines, each=TaskSize(cpus=1, gpus=gpus))


@pytest.mark.parametrize(
    ("cores", "processes", "of_machines", "groups"),
    [
        ((8,), 2, 1, 4),
        ((8, 2), 2, 1, 5),
        ((8, 8), 2, 2, 4),
        ((8, 2), 2, 2, 1),
        ((8, 2, 2), 2, 2, 2),
        ((8, 4, 1), 2, 2, 2),
        ((8, 8, 8), 1, 3, 8),
    ],
    ids=str,
)
def test_a_group_is_on_each_of_its_machines_once(
    cores: tuple[int, ...], processes: int, of_machines: int, groups: int
) -> None:
    assert size(processes, of_machines).at_once(machines(*({"CPU": float(one)} for one in cores))) == groups


def test_a_group_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(UserError, match="need 2 machines that have room for them, and this machine has 1"):
        size(4, 2).at_once(machines({"CPU": 8.0}, {"CPU": 2.0}))


@pytest.mark.parametrize(("gpus", "index", "of"), [(1.0, "0", "1"), (0.0, "1", "2")])
def test_a_process_on_a_gpu_sees_only_its_own(
    gpus: float, index: str, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = {
        "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "RANK": "3", "WORLD_SIZE": "4",
        "LOCAL_RANK": index, "LOCAL_WORLD_SIZE": of,
    }  # fmt: skip
    for name in expected:
        monkeypatch.setenv(name, "")
    Seat(rank=3, size=size(2, 2, gpus=gpus), host="10.0.0.1", port=29500).take()
    assert {name: os.environ[name] for name in expected} == expected


@pytest.mark.parametrize("first", [GLOO, DIED], ids=["failed", "died"])
def test_the_error_of_the_user_counts_whichever_process_ends_first(first: Exception) -> None:
    ray = FakeRay(rank1=first, rank0=NO_DATA)
    assert group._outcome(ray, ["rank0", "rank1"]) is NO_DATA


def test_a_process_that_fails_because_another_died_counts_as_died() -> None:
    with pytest.raises(exceptions.WorkerCrashedError):
        group._outcome(FakeRay(rank1=GLOO, rank0=DIED), ["rank0", "rank1"])
    with pytest.raises(RuntimeError, match="gloo"):
        group._outcome(FakeRay(rank1=GLOO), ["rank0", "rank1"])


def test_the_outcome_is_that_of_the_first_process_once_all_have_ended() -> None:
    assert group._outcome(FakeRay(rank1=None, rank0=0.5), ["rank0", "rank1"]) == 0.5


def test_a_group_that_does_not_meet_is_tried_again() -> None:
    """The port is taken between the moment when it was free and that when the first process listens."""
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        with pytest.raises(RuntimeError) as refused:
            TCPStore("127.0.0.1", taken.getsockname()[1], is_master=True, timeout=timedelta(seconds=5))
    there = task_error(pickle.loads(pickle.dumps(refused.value)))
    assert isinstance(group._reason(FakeRay(), there), Lost)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (DIED, Lost, "WorkerCrashedError: The worker died"),
        (exceptions.NodeDiedError("it went away"), Lost, "it went away"),
        (GLOO, RuntimeError, "closed by peer"),
        (task_error(KeyError("a fault")), KeyError, "a fault"),
    ],
    ids=["died", "machine", "failed", "fault"],
)
def test_only_deaths_are_tried_again(error: Exception, kind: type[Exception], words: str) -> None:
    found: Any = group._reason(FakeRay(), error)
    assert type(found) is kind
    assert words in str(found)


def test_processes_that_do_not_stop_are_not_waited_for_without_end() -> None:
    ray = FakeRay(rank0=None)
    group._stop(ray, ["rank0", "rank1"])
    assert ray.cancelled == ["rank0", "rank1"]
    assert ray.timeouts == [group.PATIENCE]
