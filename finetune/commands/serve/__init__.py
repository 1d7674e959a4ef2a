"""`finetune serve`: a trained model over HTTP, with a page to try it."""

import gc
import json
import os
import re
import shlex
import signal
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

from finetune.analysis.table import Line, Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import model_name
from finetune.api.model import Model, loaded
from finetune.api.parameters import Cli
from finetune.errors import UserError, first_line

if TYPE_CHECKING:
    import uvicorn

    from finetune.commands.serve.app import Endpoints

LOOPBACK = ("localhost", "127.0.0.1", "::1")  # hosts that other machines do not reach
TOKEN = re.compile("[!-~]{16,}")
SECONDS_TO_END = 9  # in which requests that wait are answered when the server is stopped
CONNECTIONS = 2_048  # that wait to be taken


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server, which answers in the background: what `finetune.serve` returns.

    Example: `server = finetune.serve("reviews.csv", port=0); server.address`

    Attributes:
        address: Where it is: the page, and `/predict`, `/about` and `/health`.
        model: What it serves.
        example: A command that asks it.
    """

    address: str
    model: str
    example: str
    uvicorn: "uvicorn.Server" = field(repr=False)
    thread: Thread = field(repr=False)
    endpoints: "Endpoints" = field(repr=False)

    def wait(self) -> None:
        """Waits until Ctrl-C or SIGTERM, then answers what waits and ends the server."""
        before = {number: signal.signal(number, self.uvicorn.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        while self.thread.is_alive():
            self.thread.join(0.5)  # a signal may interrupt this one
        self.stop()
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(self) -> None:
        """Answers what waits, and ends the server."""
        self.uvicorn.should_exit = True
        self.thread.join()
        self.endpoints.worker.close(1.0)


@plainly
def serve(
    model: Any,
    *,
    port: Annotated[int, Cli(least=0)] = 8000,
    host: str = "127.0.0.1",
    token_env: str | None = None,
    task: str | None = None,
    out: str | Path = "results",
    device: str | None = None,
) -> Server:
    """Answers over HTTP, with a page to try the model: on the terminal until Ctrl-C.

    Example: `finetune.serve("reviews.csv").wait()`

    Args:
        model: A run (folder, id, or its task), an export, or any fine-tuned checkpoint.
        port: Where to listen; 0 takes one that is free.
        host: Where to listen; 0.0.0.0: other machines reach it, too.
        token_env: The environment variable with the token that requests must have.
        task: The model's task, if it is in a file (FILE.py:NAME) or was not saved.
        out: The folder of runs.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.

    Returns:
        The server, which answers in the background until it is stopped or Python ends.

    Raises:
        UserError: For a port that cannot be listened on, and for a host that other machines reach without a token.
    """
    name, token = model_name(model), _token(token_env, host)
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        what = f"a server needs a package that is not installed ({error.name})"
        raise UserError(what, "Install it: pip install 'bert-finetune[serve]'") from error
    bound = _listening(host, port)
    try:
        with here().working(f"loading the model {name}", model=name) as watch:
            opened = model if isinstance(model, Model) else loaded(name, task=task, out=out, device=device, watch=watch)
        return _started(opened, bound, host, token, token_env)
    except BaseException:
        bound.close()
        raise


def _token(name: str | None, host: str) -> str:
    """The token in an environment variable; empty without a name.

    Raises UserError for one that cannot be a token, and where other machines reach the server and there is none.
    """
    if name is None:
        if host in LOOPBACK:
            return ""
        raise UserError(
            f"other machines reach {host}, and whoever asks there needs a token",
            "Add `token_env` NAME, after export NAME=$(openssl rand -hex 16)",
        )
    token = os.environ.get(name, "")
    if not TOKEN.fullmatch(token):
        raise UserError(
            f"the variable {name} has no token, which is 16 characters of ASCII or more, without spaces",
            f"Set one: export {name}=$(openssl rand -hex 16)",
        )
    return token


def _listening(host: str, port: int) -> socket.socket:
    """A socket on that address. Raises UserError for one that cannot be had."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise UserError(
            f"port {port} of {host} cannot be listened on ({first_line(error)})",
            "Choose another `port` (0 takes one that is free), or the host 127.0.0.1 or 0.0.0.0",
        ) from error


def _started(model: Model, bound: socket.socket, host: str, token: str, token_env: str | None) -> Server:
    import uvicorn

    from finetune.commands.serve.app import Endpoints, ServeLimits, build_app

    endpoints = Endpoints(model, ServeLimits())
    app = build_app(endpoints, local=host in LOOPBACK, token=token, log=lambda line: here().tell(Line(line)))
    config = uvicorn.Config(
        app, log_config=None, log_level="critical", access_log=False, server_header=False, ws="none", lifespan="off",
        backlog=CONNECTIONS, timeout_graceful_shutdown=SECONDS_TO_END,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [bound]}, name="server", daemon=True)
    thread.start()
    name = "127.0.0.1" if host == "0.0.0.0" else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{bound.getsockname()[1]}"
    body = shlex.quote(json.dumps({"rows": [endpoints.about["example"]]}, ensure_ascii=False))
    sent = f' -H "Authorization: Bearer ${token_env}"' if token_env else ""
    example = f"curl {address}/predict{sent} -H 'Content-Type: application/json' -d {body}"
    about = endpoints.about
    return Server(
        address=address, model=f"{about['name']} ({about['shape']}, {about['engine']})", example=example,
        uvicorn=server, thread=thread, endpoints=endpoints,
    )  # fmt: skip


def as_json(server: Server) -> Iterator[Mapping[str, Any]]:
    """`address` and `model`, once it listens; it answers until Ctrl-C."""
    yield {"address": server.address, "model": server.model}
    _serve_on(server)


def shown(server: Server) -> Iterator[Part]:
    """Where the server is, what it serves and how to try it; then it answers until Ctrl-C."""
    yield f"{server.address}: {server.model}"
    yield Line(f"  {server.example}")
    here().tell("Ctrl-C stops it")
    _serve_on(server)


def _serve_on(server: Server) -> None:
    server.wait()
    gc.freeze()  # else Python walks through all of torch as it ends, which takes seconds on a busy machine
