"""`finetune evaluate`: scores a checkpoint on a task or a file."""

import json
from pathlib import Path
from typing import Annotated

import typer

from finetune.api.evaluate import evaluated
from finetune.cli.arguments import RESULTS, Data, Device, Json, Out
from finetune.cli.console import standard_error
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import ProgressDisplay
from finetune.cli.run_tables import in_words
from finetune.cli.terminal import echo
from finetune.data.files import is_data
from finetune.data.paths import require_place
from finetune.errors import UserError
from finetune.training.targets import split_arguments


def evaluate(
    model: Annotated[
        str, typer.Argument(help="A run (folder or id), or any fine-tuned checkpoint (folder or Hub name).")
    ],
    task: Annotated[str, typer.Argument(help="A task, or a data file with the columns of the training data.")],
    settings: Annotated[list[str] | None, typer.Argument(help="encoding=NAME, for a data file.")] = None,
    split: Annotated[str | None, typer.Option(help="Default: the task's dev splits.")] = None,
    predictions: Annotated[Path | None, typer.Option(help="Write every prediction to this Parquet file.")] = None,
    data: Data = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Prints the scores of each split."""
    others, given = split_arguments(settings or [])
    encoding = str(given.pop("encoding", ""))
    if unknown := [*others, *given, *(["encoding"] if encoding and not is_data(task) else [])]:
        raise UserError(f"unknown setting '{unknown[0]}'", "Only encoding=NAME can be set, for a data file")
    if predictions is not None:
        require_place(predictions)
    load_libraries(f"{task}: loading {model}", "finetune.inference.evaluate")
    with ProgressDisplay(standard_error()) as watch:
        found = evaluated(
            model, task, split=split, predictions=predictions, data=data, device=device, out=out, watch=watch,
            encoding=encoding,
        )  # fmt: skip
    if predictions is not None:
        echo(f"predictions: {predictions}", err=True)
    echo(
        json.dumps(found.scores) if as_json else in_words(found.scores, found.task.metric) or "no labels, so no scores"
    )
