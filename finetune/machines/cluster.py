"""A Ray cluster: one that runs already, or one on this machine alone, which ends with the command."""

import logging
import os
import shutil
import signal
import socket
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from finetune.errors import UserError, first_line
from finetune.runs.environment import versions

ADDRESS = "RAY_ADDRESS"
STORE_BYTES = 200_000_000  # of the object store of a local cluster, through which only recipes and records pass
ANSWER_SECONDS = 10.0
TOKEN = Path.home() / ".ray" / "auth_token"
COMPARED = ("python", "torch", "transformers", "bert-finetune")
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on every system: a local cluster listens on loopback alone
}


@contextmanager
def cluster(cpus: int | None, shared: Path | None, *, remedy: str) -> Iterator[Any]:
    """The module `ray`, connected to the cluster at $RAY_ADDRESS, or to a new one with so many CPU cores.

    Within another `cluster` it is that one's.

    Raises UserError where Ray is not installed or does not start, and where a machine of the cluster has other
    versions or does not see the folder that all share, if there is one: `remedy` says what to do.
    """
    ray = imported_ray()
    if ray.is_initialized():
        yield ray
        return
    handler = signal.getsignal(signal.SIGTERM)  # which Ray replaces
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    try:
        _connect(ray, cpus, folder)
        with suppress(ValueError):  # outside the main thread
            signal.signal(signal.SIGTERM, handler)
        _require_equal_machines(ray, shared, remedy)
        yield ray
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def imported_ray(extra: str = "ray") -> Any:
    """The module `ray`, which neither prints nor tells of its use. Raises UserError, with that extra, without it."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if ADDRESS in os.environ and TOKEN.is_file():  # then `ray start` asks for it; who does not ask ignores it
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        import ray
    except ImportError as error:
        raise UserError("Ray is not installed", f"pip install 'bert-finetune[{extra}]'") from error
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    return ray


def _connect(ray: Any, cpus: int | None, folder: Path) -> None:
    address = os.environ.get(ADDRESS)
    if address is not None:
        _require_answer(address)
    own = (
        {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": STORE_BYTES, "_temp_dir": str(folder)}
        if address is None
        else {"address": address}
    )
    try:
        ray.init(configure_logging=False, log_to_driver=False, logging_level=logging.CRITICAL, **own)
    except Exception as error:  # Ray raises its own and built-in ones, such as ConnectionError and RuntimeError
        if address is not None:
            raise _no_cluster(address, first_line(error)) from error
        raise UserError(
            f"Ray did not start ({first_line(error)})", "Leave `on` out, or try again when the machine is less busy"
        ) from error


def _require_answer(address: str) -> None:
    """Raises UserError where nothing listens at the host and port of an address, for which Ray waits minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not port.isdecimal():  # such as `auto`, which Ray looks up itself
        return
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS).close()
    except OSError as error:
        raise _no_cluster(address, error.strerror or str(error)) from error


def _no_cluster(address: str, why: str) -> UserError:
    return UserError(
        f"no Ray cluster could be joined at {address} ({why})",
        f"Start a cluster there, set {ADDRESS} to the address of one (and RAY_AUTH_MODE=token if it asks for a token), "
        "or unset it to use this machine",
    )


def _require_equal_machines(ray: Any, shared: Path | None, remedy: str) -> None:
    """Raises UserError for a machine with other versions than this one, and for one that cannot write into `shared`."""
    nodes = [node for node in ray.nodes() if node["Alive"]]
    names = [f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})" for node in nodes]
    with _marker(shared) as marker:
        found = dict(zip(names, _looked(ray, nodes, marker), strict=True))
    _require_equal_versions({name: there for name, (there, _) in found.items()})
    if blind := [f"{name}: {why}" for name, (_, why) in found.items() if why]:
        raise UserError(f"machines that cannot write into {shared and shared.resolve()}: {'; '.join(blind)}", remedy)


@contextmanager
def _marker(folder: Path | None) -> Iterator[str]:
    """The path of a file in the folder by which other machines know it; empty without a folder."""
    if folder is None:
        yield ""
        return
    marker = folder.resolve() / f".seen-{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        marker.touch()
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror})", "Give another folder") from error
    try:
        yield str(marker)
    finally:
        marker.unlink(missing_ok=True)


def _looked(ray: Any, nodes: list[Any], marker: str) -> list[tuple[dict[str, str], str]]:
    """What `_machine` says on each node. Raises UserError where it cannot be called."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    look = ray.remote(num_cpus=0)(_machine)
    where = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in nodes]
    try:
        return ray.get([look.options(scheduling_strategy=each).remote(marker) for each in where])  # type: ignore[no-any-return]
    except Exception as error:  # the module that is not there, or Ray's own exceptions
        raise UserError(
            f"a machine of the cluster cannot run this project ({first_line(error)})",
            "Install it there, with the same versions",
        ) from error


def _require_equal_versions(machines: dict[str, dict[str, str]]) -> None:
    here = {name: version for name, version in versions().items() if name in COMPARED}
    other = {
        machine: ", ".join(f"{name} {found.get(name)}" for name in here if found.get(name) != here[name])
        for machine, found in machines.items()
    }
    if differing := [f"{machine} has {words}" for machine, words in other.items() if words]:
        needed = ", ".join(f"{name} {version}" for name, version in here.items())
        raise UserError(
            f"machines with other versions than here: {'; '.join(differing)}", f"Install there what is here: {needed}"
        )


def _machine(marker: str) -> tuple[dict[str, str], str]:
    """Versions on this machine, and why a file cannot be written next to `marker`; empty if it can."""
    try:
        if marker and not Path(marker).is_file():
            return versions(), "it is another folder there"
        if marker:
            own = Path(f"{marker}-{uuid.uuid4().hex}")
            own.touch()
            own.unlink()
    except OSError as error:
        return versions(), error.strerror or type(error).__name__
    return versions(), ""
