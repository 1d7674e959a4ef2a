"""The same application in replicas of Ray Serve, on this machine or on the cluster at $RAY_ADDRESS."""

import gc
import logging
import os
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from queue import SimpleQueue
from typing import Any

from finetune.commands.serve.guard import Guard
from finetune.commands.serve.limits import ServeLimits
from finetune.commands.serve.plan import ServePlan
from finetune.commands.serve.running import CONNECTIONS, SECONDS_TO_ANSWER
from finetune.commands.serve.served_models import ServedModels
from finetune.errors import UserError, first_line
from finetune.machines.cluster import ADDRESS, imported_ray
from finetune.machines.place import Place
from finetune.machines.ray_tasks import RayTasks, where_ray_is

APPLICATION = "finetune"  # its name in Ray Serve
SECONDS_BETWEEN_LOOKS = 0.2  # at whether a replica that ends has answered its requests


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Replicas of the size of these tasks, as many as they have workers, which answer on a port of each machine that
    has one of them.
    """

    plan: ServePlan
    tasks: RayTasks
    port: int

    def until_stopped(self, greet: Callable[[], None], *, log: Callable[[str], None]) -> None:
        """Answers until SIGTERM or Ctrl-C, after it has greeted; SIGHUP replaces each replica, if the models can be
        loaded.

        Raises UserError where Ray Serve cannot be used, and where the replicas do not start.
        """
        with self._started() as start:
            start()
            signals = SimpleQueue[int]()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, lambda number, _: signals.put(number))
            greet()
            while signals.get() == signal.SIGHUP:
                try:
                    self.plan.models_on_cpu()
                    start()
                    log("loaded again, in new replicas")
                except UserError as error:
                    log(f"cannot be loaded again: {error}")
            log("stopping: the requests that wait are answered")
        gc.freeze()  # as in ServerRun

    @contextmanager
    def _started(self) -> Iterator[Callable[[], None]]:
        """Ray Serve, with what starts the replicas, or replaces them; they are deleted at the end."""
        serve = _ray_serve()
        with self.tasks.cluster(None, remedy="") as ray:
            size = self.tasks.size(ray)
            if (room := sum(size.rooms(ray))) < (count := self.tasks.workers or 1):
                raise UserError(f"{where_ray_is()} has room for {room} of {count} replicas", "Give less")
            if serve.status().proxies:
                raise UserError("Ray Serve runs on the cluster already, on another port", "End it: serve shutdown")
            plan, place = self.plan, size.place()

            def app() -> Guard:
                return _replica(plan, place)

            deployed = serve.deployment(
                serve.ingress(app)(),
                name=APPLICATION,
                num_replicas=count,
                ray_actor_options={"num_cpus": size.cpus, "num_gpus": size.gpus},
                max_ongoing_requests=CONNECTIONS,  # the application itself bounds what waits
                max_queued_requests=CONNECTIONS,
                max_constructor_retry_count=1,  # what cannot be loaded now cannot be a second later
                graceful_shutdown_wait_loop_s=SECONDS_BETWEEN_LOOKS,
                graceful_shutdown_timeout_s=SECONDS_TO_ANSWER,
            )
            _begin(serve, self.plan.access.host, self.port)
            try:
                yield lambda: _run(serve, deployed)
            finally:
                serve.delete(APPLICATION)
                if ADDRESS in os.environ:  # which goes on without it; one of this machine alone ends now
                    with redirect_stdout(StringIO()):  # Ray prints that a task of its controller ends
                        serve.shutdown()


def _ray_serve() -> Any:
    """The module `ray.serve`. Raises UserError where it is not installed.

    Each replica listens on all interfaces to what other processes of Ray send it: a token keeps others out.
    """
    os.environ.setdefault("RAY_SERVE_LOG_TO_STDERR", "0")
    if ADDRESS not in os.environ:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex())
    imported_ray("ray-serve")
    try:
        from ray import serve
    except ImportError as error:
        raise UserError(
            f"Ray Serve needs a package that is not installed ({error.name})", "pip install 'bert-finetune[ray-serve]'"
        ) from error
    logging.getLogger("ray.serve").setLevel(logging.CRITICAL)
    return serve


def _begin(serve: Any, host: str, port: int) -> None:
    quiet = {"enable_access_log": False, "log_level": "ERROR"}
    serve.start(http_options={"host": host, "port": port}, logging_config=quiet)


def _run(serve: Any, deployed: Any) -> None:
    """Starts the replicas, in the place of those that there are. Raises UserError where they do not start."""
    try:
        serve.run(deployed.bind(), name=APPLICATION, logging_config={"enable_access_log": False})
    except RuntimeError as error:
        messages = [one.message for one in serve.status().applications[APPLICATION].deployments.values()]
        last = first_line(error) if not any(messages) else "".join(messages).strip().splitlines()[-1]
        raise UserError(
            f"the replicas did not start ({last.removeprefix('finetune.errors.UserError: ')})",
            "Each loads the models itself: its machine needs the same folders",
        ) from error


def _replica(plan: ServePlan, place: Place) -> Guard:
    """The application in the process of a replica, which prints what it logs; Ray keeps that."""
    place.enter()
    return plan.app(ServedModels(plan.models(), ServeLimits()), log=print, log_rows=_print_rows)


def _print_rows(rows: Sequence[Any]) -> None:
    for row in rows:
        print(f"  {row}")
