"""`finetune track`: sends finished runs to trackers."""

from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Out, Quiet
from finetune.cli.libraries import load_libraries
from finetune.cli.terminal import one_line, print_error, say
from finetune.commands.track.api import send_runs
from finetune.errors import UserError
from finetune.runs.lookup import require_run
from finetune.training.tracking.names import tracker_names


def track_command(
    runs: Annotated[list[str], typer.Argument(help="Runs (folders, ids, or their tasks).")],
    to: Annotated[str, typer.Option(help="Trackers: tensorboard, mlflow, wandb, trackio, ...")],
    out: Out = RESULTS,
    quiet: Quiet = False,
) -> None:
    """Sends settings, losses, scores and records; exits with 2 if a tracker did not take everything."""
    names = tracker_names(to)
    if not names:
        raise UserError("--to names no tracker", "Give one, such as --to tensorboard")
    folders = [require_run(name, out) for name in runs]
    load_libraries("" if quiet else f"sending to {', '.join(names)}")
    found = send_runs(folders, names)
    for run, problems in found.items():
        for text in problems:
            print_error(UserError(f"{run}: {text}"))
        if not problems and not quiet:
            say(one_line(f"{run}: sent to {', '.join(names)}"), err=True)
    if any(found.values()):
        raise typer.Exit(2)
