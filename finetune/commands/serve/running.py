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


def serve_until_stopped(app: Guard, models: ServedModels, bound: socket.socket, *, log: Callable[[str], None]) -> None:
    """Answers on a socket until a signal; `log` gets what happens to the server.

    Raises UserError where another program listens on the port by now.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # which prints tracebacks
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="off", backlog=CONNECTIONS,
        timeout_graceful_shutdown=SECONDS_TO_END,
    )  # fmt: skip
    server = ModelServer(config)

    def stop() -> None:
        """Ends the server; a second signal does not wait for requests."""
        if models.stopping:
            models.drop_waiting()
            return
        log("stopping: the requests that wait are answered")
        models.stopping = server.should_exit = True
        asyncio.get_running_loop().call_later(SECONDS_TO_ANSWER, models.drop_waiting)

    def fault(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Logs what fails outside of a request, such as connections beyond those that the process may have open."""
        error = context.get("exception")
        log(f"fault: {context['message']}" + (f" ({first_line(error)})" if error else ""))

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(fault)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        await server.serve(sockets=[bound])

    try:
        asyncio.run(serve())
    except OSError as error:
        raise UserError(f"the port cannot be listened on ({first_line(error)})", "Choose another `port`") from error
    models.close(1.0)
    gc.freeze()  # else Python walks through all of torch as it ends, which takes seconds on a busy machine


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
