"""`finetune serve`: a model over HTTP, with a page to try it."""

import json
import os
import shlex
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finetune.cli.arguments import RESULTS, Device, Out, Quiet, TaskOf
from finetune.cli.console import standard_error
from finetune.cli.libraries import load_for
from finetune.cli.options import note_line
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, one_line, say
from finetune.errors import UserError
from finetune.inference.model_source import ModelSource
from finetune.training.targets import split_arguments

if TYPE_CHECKING:
    from finetune.commands.serve.guard import Access
    from finetune.commands.serve.served_model import ServedModel

LEAST_TOKEN = 16  # characters


def serve_command(
    models: Annotated[
        list[str],
        typer.Argument(help="Runs (folder, id, or task), exports or checkpoints; temperature=dev for all of them."),
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 8000,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0: other machines reach it, too.")] = "127.0.0.1",
    token_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The environment variable with the token that requests must have."),
    ] = None,
    examples: Annotated[bool, typer.Option(help="Show rows of dev on the page.")] = True,
    task: TaskOf = None,
    out: Out = RESULTS,
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Answers over HTTP until Ctrl-C."""
    token = _token(token_env)
    names, settings = split_arguments(models)
    if wrong := [name for name in settings if name != "temperature"]:
        raise UserError(f"unknown setting '{wrong[0]}'", "It can be temperature=dev")
    _require_serve()
    from finetune.commands.serve.running import bound_socket

    with bound_socket(host, port) as bound:
        for name in names:
            load_for(name, "" if quiet else f"loading {name}", "finetune.inference.predictor")
        from finetune.commands.serve.guard import Access

        how: dict[str, Any] = {"task": task, "out": str(out), "temperature": settings.get("temperature")}
        sources = [ModelSource(model=name, device=device, **how) for name in names]
        access = Access(host=host, token=token)
        _serve(sources, access, bound, token_env, examples=examples, quiet=quiet)


def _serve(
    sources: Sequence[ModelSource],
    access: "Access",
    bound: socket.socket,
    token_env: str | None,
    *,
    examples: bool,
    quiet: bool,
) -> None:
    """Answers from this process; `examples`: `/about` has rows of dev."""
    from finetune.commands.serve.app import build_app, unlogged
    from finetune.commands.serve.limits import ServeLimits
    from finetune.commands.serve.loading import load_models
    from finetune.commands.serve.running import serve_until_stopped
    from finetune.commands.serve.served_models import ServedModels

    with watching(quiet=quiet) as watch:
        loaded = load_models(sources, watch=watch)
    served = ServedModels(loaded, ServeLimits())
    log = unlogged if quiet else _log
    app = build_app(served, access=access, examples=examples, log=log)
    _greet(loaded, access, bound.getsockname()[1], token_env)
    serve_until_stopped(app, served, bound, log=_log)


def _token(name: str | None) -> str:
    """The token in an environment variable; empty without a name. Raises UserError for one that cannot be a token."""
    if name is None:
        return ""
    token = os.environ.get(name, "")
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        what = f"has {len(token)} characters" if token.isascii() and token else "is empty, or not ASCII"
        raise UserError(
            f"the variable {name} {what}, and a token needs {LEAST_TOKEN} without spaces",
            f"Set one: export {name}=$(openssl rand -hex 16)",
        )
    return token


def _require_serve() -> None:
    """Raises UserError where the packages of a server are not installed."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"a server needs a package that is not installed ({error.name})",
            "Install it: pip install 'bert-finetune[serve]'",
        ) from error


def _greet(models: Sequence["ServedModel"], access: "Access", port: int, token_env: str | None) -> None:
    """Where the server is, what it serves, how to try it, and how to stop it."""
    host = "127.0.0.1" if access.host == "0.0.0.0" else access.host
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    several = len(models) > 1
    for model in models:
        path = f"{address}/{model.name}" if several else address
        echo(one_line(f"{path}: {model.name} ({model.kind.name}, {model.engine})"))
    first = f"{address}/{models[0].name}" if several else address
    body = json.dumps({"rows": [models[0].example()]}, ensure_ascii=False)
    token = f' -H "Authorization: Bearer ${token_env}"' if token_env else ""
    echo(one_line(f"  curl {first}/predict{token} -H 'Content-Type: application/json' -d {shlex.quote(body)}"))
    if not access.is_loopback and not access.token:
        note = f"{access.host}: whoever reaches this machine can use the model; --token-env NAME asks for a token"
        standard_error().print_line(note_line(note))
    say("Ctrl-C stops it", err=True)


def _log(line: str) -> None:
    echo(one_line(line), err=True)
