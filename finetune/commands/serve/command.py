"""`finetune serve`: a model over HTTP, with a page to try it."""

import gc
import json
import logging
import os
import re
import shlex
import signal
import socket
from typing import TYPE_CHECKING, Annotated

import typer

from finetune.cli.arguments import RESULTS, Device, Out, Quiet, TaskOf
from finetune.cli.libraries import load_for
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, one_line, say
from finetune.errors import UserError, first_line

if TYPE_CHECKING:
    from finetune.commands.serve.app import Endpoints

LOOPBACK = ("localhost", "127.0.0.1", "::1")  # hosts that other machines do not reach
TOKEN = re.compile("[!-~]{16,}")
SECONDS_TO_END = 9  # in which requests that wait are answered when the server is stopped
CONNECTIONS = 2_048  # that wait to be taken


def serve_command(
    model: Annotated[str, typer.Argument(help="A run (folder, id, or task), an export or a checkpoint.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 8000,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0: other machines reach it, too.")] = "127.0.0.1",
    token_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The environment variable with the token that requests must have."),
    ] = None,
    task: TaskOf = None,
    out: Out = RESULTS,
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Answers over HTTP until Ctrl-C."""
    token = _token(token_env, host)
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError as error:
        what = f"a server needs a package that is not installed ({error.name})"
        raise UserError(what, "Install it: pip install 'bert-finetune[serve]'") from error
    with _listening(host, port) as bound:
        load_for(model, "" if quiet else f"loading {model}", "finetune.inference.predictor")
        from finetune.commands.serve.app import Endpoints, ServeLimits, build_app
        from finetune.commands.serve.model import load_served

        with watching(quiet=quiet) as watch:
            served = load_served(model, task=task, out=out, device=device, watch=watch)
        endpoints = Endpoints(served, ServeLimits())
        app = build_app(endpoints, local=host in LOOPBACK, token=token, log=(lambda _: None) if quiet else _log)
        _greet(endpoints, host, bound.getsockname()[1], token_env)
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # which prints tracebacks
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="off", backlog=CONNECTIONS,
            timeout_graceful_shutdown=SECONDS_TO_END,
        )  # fmt: skip
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn ends by them, then raises them again
            signal.signal(number, signal.SIG_IGN)
        uvicorn.Server(config).run(sockets=[bound])
    endpoints.worker.close(1.0)
    gc.freeze()  # else Python walks through all of torch as it ends, which takes seconds on a busy machine


def _token(name: str | None, host: str) -> str:
    """The token in an environment variable; empty without a name.

    Raises UserError for one that cannot be a token, and where other machines reach the server and there is none.
    """
    if name is None and host not in LOOPBACK:
        raise UserError(
            f"other machines reach {host}, and whoever asks there needs a token",
            "Name the variable that has it: --token-env NAME, after export NAME=$(openssl rand -hex 16)",
        )
    token = os.environ.get(name, "") if name else ""
    if name and not TOKEN.fullmatch(token):
        raise UserError(
            f"the variable {name} has no token, which is 16 characters of ASCII or more, without spaces",
            f"Set one: export {name}=$(openssl rand -hex 16)",
        )
    return token


def _listening(host: str, port: int) -> socket.socket:
    """A socket on that address. Raises UserError for one that cannot be had."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UserError(
            f"port {port} of {host} cannot be listened on ({first_line(error)})",
            "Choose another `port` (0 takes one that is free), or the host 127.0.0.1 or 0.0.0.0",
        ) from error


def _greet(endpoints: "Endpoints", host: str, port: int, token_env: str | None) -> None:
    """Where the server is, what it serves, how to try it, and how to stop it."""
    model = endpoints.model
    name = "127.0.0.1" if host == "0.0.0.0" else f"[{host}]" if ":" in host else host
    echo(one_line(f"http://{name}:{port}: {model.name} ({model.shape}, {model.engine})"))
    body = shlex.quote(json.dumps({"rows": [model.example()]}, ensure_ascii=False))
    token = f' -H "Authorization: Bearer ${token_env}"' if token_env else ""
    echo(one_line(f"  curl http://{name}:{port}/predict{token} -H 'Content-Type: application/json' -d {body}"))
    say("Ctrl-C stops it", err=True)


def _log(line: str) -> None:
    echo(one_line(line), err=True)
