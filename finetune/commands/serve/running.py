"""Runs the server until a signal: SIGTERM and Ctrl-C end it once the waiting requests are answered."""

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from finetune.commands.serve.guard import Guard
from finetune.commands.serve.served_models import ServedModels
from finetune.errors import UserError, first_line

SECONDS_TO_ANSWER = 7.0  # for requests that wait when the server is stopped
SECONDS_TO_END = 9  # after which connections are closed
CONNECTIONS = 2_048  # that wait to be taken


class ModelServer(uvicorn.Server):
    """uvicorn's server, whose signals are ours."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leaves signals as they are."""
        yield


class ServerRun:
    """One run of the server on a socket; `log` gets what happens to it."""

    def __init__(self, app: Guard, models: ServedModels, *, log: Callable[[str], None]) -> None:
        self.models, self.log = models, log
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # which prints tracebacks
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="off",
            backlog=CONNECTIONS,
            timeout_graceful_shutdown=SECONDS_TO_END,
        )
        self._server = ModelServer(config)

    def until_stopped(self, bound: socket.socket) -> None:
        """Answers until a signal. Raises UserError where another program listens on the port by now."""
        try:
            asyncio.run(self._serve(bound))
        except OSError as error:
            raise UserError(f"the port cannot be listened on ({first_line(error)})", "Choose another `port`") from error
        self.models.close(1.0)
        gc.freeze()  # else Python walks through all of torch as it ends, which takes seconds on a busy machine

    async def _serve(self, bound: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._fault)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        await self._server.serve(sockets=[bound])

    def _fault(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Logs what fails outside of a request, such as connections beyond those that the process may have open."""
        error = context.get("exception")
        self.log(f"fault: {context['message']}" + (f" ({first_line(error)})" if error else ""))

    def _stop(self) -> None:
        """Ends the server; a second signal does not wait for requests."""
        if self.models.stopping:
            self.models.drop_waiting()
            return
        self.log("stopping: the requests that wait are answered")
        self.models.stopping = self._server.should_exit = True
        asyncio.get_running_loop().call_later(SECONDS_TO_ANSWER, self.models.drop_waiting)


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket on that address, which takes no connection yet. Raises UserError for one that cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UserError(
            f"the host '{host}' is not known ({first_line(error)})", "Choose 127.0.0.1, or 0.0.0.0"
        ) from error
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(address)
    except OSError as error:
        made.close()
        raise UserError(
            f"port {port} of {host} cannot be used ({error.strerror})", "Choose another; 0 takes one that is free"
        ) from error
    return made
