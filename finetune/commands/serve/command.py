"""`finetune serve`: a model over HTTP, with a page to try it."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Device, Out, Quiet, TaskOf
from finetune.cli.libraries import load_libraries
from finetune.cli.terminal import say
from finetune.inference.model_source import ModelSource


def serve_command(
    models: Annotated[
        list[str], typer.Argument(help="Runs (folder, id, or task), exports, or fine-tuned checkpoints.")
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 8000,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for all of this machine.")] = "127.0.0.1",
    task: TaskOf = None,
    out: Out = RESULTS,
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Answers over HTTP until Ctrl-C."""
    load_libraries("" if quiet else f"loading {', '.join(models)}", "finetune.inference.predictor")
    import uvicorn

    from finetune.commands.serve.app import build_app
    from finetune.commands.serve.limits import ServeLimits
    from finetune.commands.serve.loading import load_models
    from finetune.commands.serve.served_models import ServedModels

    sources = [ModelSource(model=name, task=task, out=str(out), device=device) for name in models]
    served = ServedModels(load_models(sources), ServeLimits())
    say(f"http://{host}:{port}")
    uvicorn.run(build_app(served), host=host, port=port, log_config=None)
