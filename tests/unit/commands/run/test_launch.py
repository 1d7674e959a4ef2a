"""What a group of processes on several machines needs before it starts."""

from typing import Any, NoReturn

import pytest
from torch.distributed.elastic.rendezvous import RendezvousConnectionError
from torch.distributed.launcher import api

from finetune.commands.run.launch import CPP_LOG, THREADS, ProcessGroup, launch
from finetune.errors import UserError


@pytest.mark.parametrize("address", ["node1", "node1:", ":29500", "node1:a", "node1:65536"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(UserError, match="HOST:PORT"):
        ProcessGroup(machines=2, address=address)


def test_a_host_that_does_not_exist_is_an_error_at_once() -> None:
    with pytest.raises(UserError, match=r"knows no 'nowhere\.invalid'"):
        launch(ProcessGroup(machines=2, address="nowhere.invalid:29500"), [])


def test_machines_that_do_not_meet_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> NoReturn:
        raise RendezvousConnectionError("timed out\nframe #0")

    for name in (CPP_LOG, THREADS, "ACCELERATE_USE_CPU"):
        monkeypatch.setenv(name, "1")  # so that what `launch` sets is gone after the test
    monkeypatch.setattr(api, "elastic_launch", never)
    with pytest.raises(UserError, match=r"2 machines did not meet at 127.0.0.1:29500 .*timed out\)") as raised:
        launch(ProcessGroup(machines=2, address="127.0.0.1:29500"), [])
    assert "\n" not in str(raised.value)
