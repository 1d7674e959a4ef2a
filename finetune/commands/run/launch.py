"""Starts the processes that train a run together, as `torchrun` does, without its messages."""

import logging
import os
import socket
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from finetune.data.messages import so_many
from finetune.errors import UserError, first_line

THREADS = "OMP_NUM_THREADS"
WORLD = "WORLD_SIZE"  # set by a launcher in the processes that it starts
CPP_LOG = "TORCH_CPP_LOG_LEVEL"
HIGHEST_PORT = 65_535
MEETING = "finetune"  # the name under which machines find each other
LOGGERS = ("torch.distributed.elastic", "torch.distributed.run", "torch.distributed.launcher")


@dataclass(frozen=True, kw_only=True)
class ProcessGroup:
    """So many `processes` on each of so many `machines`, which meet at the address HOST:PORT of one of them."""

    processes: int = 1
    machines: int = 1
    address: str | None = None

    def __post_init__(self) -> None:
        """Raises UserError for numbers below 1, and for machines without an address."""
        for name, value in (("processes", self.processes), ("machines", self.machines)):
            if value < 1:
                raise UserError(f"the number of {name} is {value}", "Give at least 1")
        if self.machines > 1 and not self.address:
            raise UserError(
                f"{self.machines} machines need a place to meet", "Give the address HOST:PORT of one of them"
            )
        host, _, port = (self.address or "localhost:0").rpartition(":")
        if not host or not port.isdecimal() or int(port) > HIGHEST_PORT:
            raise UserError(f"the address is '{self.address}'", "Give it as HOST:PORT, such as node1:29500")


def in_group() -> bool:
    """Whether a launcher has started this process."""
    return WORLD in os.environ


def launch(group: ProcessGroup, arguments: Sequence[str]) -> int:
    """Runs `python -m finetune` with these arguments in all processes of the group; returns the exit code of the first
    that failed.

    Raises UserError for an address that does not exist, and where the machines do not meet.
    """
    if group.address:
        _require_host(group.address)
    os.environ.setdefault(CPP_LOG, "FATAL")  # which torch reads when it is imported
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.elastic.rendezvous import RendezvousError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    _set_environment(group.processes)
    config = LaunchConfig(
        min_nodes=group.machines, max_nodes=group.machines, nproc_per_node=group.processes, max_restarts=0,
        rdzv_backend="c10d", rdzv_endpoint=group.address or "localhost:0",
        run_id=MEETING if group.machines > 1 else uuid.uuid4().hex,
        local_addr="127.0.0.1" if group.machines == 1 else None,
    )  # fmt: skip
    try:
        elastic_launch(config, sys.executable)("-m", "finetune", *arguments)
    except ChildFailedError as failed:
        code = failed.get_first_failure()[1].exitcode
        return code if code > 0 else 128 - code
    except SignalException as stopped:
        return 128 + stopped.sigval
    except RendezvousError as error:
        raise UserError(
            f"{so_many(group.machines, 'machine')} did not meet at {group.address or 'this one'} ({first_line(error)})",
            "Give the name and a free port of one of the machines as `address`, and start the command on each",
        ) from error
    return 0


def _require_host(address: str) -> None:
    """Raises UserError for a machine that this one does not know, which torch would try to reach for minutes."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError) as error:
        raise UserError(
            f"`address` is '{address}', and this machine knows no '{host}' ({first_line(error)})",
            "Give HOST:PORT with a name or number that `ping` finds",
        ) from error


def _set_environment(processes: int) -> None:
    """CPU threads are shared among the processes; without a GPU Accelerate has to be told that they use the CPU."""
    import torch

    os.environ.setdefault(THREADS, str(max(1, (os.cpu_count() or 1) // processes)))
    if not torch.cuda.is_available():
        os.environ["ACCELERATE_USE_CPU"] = "true"
