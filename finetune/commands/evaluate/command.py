"""`finetune evaluate`: scores a checkpoint on a task or a file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from finetune.api.evaluation import Evaluation
from finetune.cli.arguments import RESULTS, Data, Device, Json, Out, Quiet
from finetune.cli.libraries import load_for
from finetune.cli.options import note_line
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, one_line, say
from finetune.commands.evaluate.answers import are_answers, score_answers
from finetune.data.files import is_data
from finetune.data.paths import require_here
from finetune.data.source import source_of
from finetune.errors import UserError, nearest
from finetune.metrics.metric import find_metric
from finetune.metrics.scores import in_words
from finetune.runs.lookup import near_files
from finetune.task_types.options import configured
from finetune.task_types.registry import find, in_file
from finetune.training.targets import split_arguments


def evaluate_command(
    model: Annotated[
        str, typer.Argument(help="A run (folder, id), any fine-tuned checkpoint, or a JSON file of predictions.")
    ],
    task: Annotated[str, typer.Argument(help="A task, or a data file with the columns of the training data.")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="text=COLUMN, label=COLUMN, encoding=NAME, sheet=NAME, for a data file."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Default: the task's dev splits.")] = None,
    data: Data = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prints the scores of each split."""
    others, given = split_arguments(settings or [])
    _require_task(task, others)
    if are_answers(model, task, out):
        scored = configured(find(task), given)
        _print_scores(score_answers(scored, Path(model), source=source_of(data), split=split), as_json=as_json)
        return
    load_for(model, "" if quiet else f"{task}: loading {model}", "finetune.commands.evaluate.scoring")
    from finetune.commands.evaluate.scoring import evaluate_model

    with watching(quiet=quiet) as watch:
        found = evaluate_model(
            model, task, source=source_of(data), out=out, watch=watch, split=split, device=device,
            options={name: str(value) for name, value in given.items()},
        )  # fmt: skip
    name_of = (lambda _: Path(task).name) if Path(task).is_file() else str  # a file has no splits
    named = {name_of(split): score for split, score in found.scores.items()}
    if as_json:
        echo(json.dumps(found.scores | ({"shared": found.shared} if found.shared else {})))
    else:
        say(in_words(named, lambda name: find_metric(name, found.task.metrics)) or "no labels, so no scores")


def _print_scores(found: Evaluation, *, as_json: bool) -> None:
    """Prints the scores of predictions, with three digits as official scripts do."""
    for note in found.notes:
        say(one_line(note_line(note)), err=True)
    if as_json:
        echo(json.dumps(found.scores))
        return
    for split, scores in found.scores.items():
        words = [f"{name} {find_metric(name, found.task.metrics).scaled(score):.3f}" for name, score in scores.items()]
        echo(f"{split} {', '.join(words)}")


def _require_task(task: str, others: Sequence[str]) -> None:
    """Raises UserError for further arguments that are no settings, and for a data file that does not exist."""
    if others:
        raise UserError(f"'{others[0]}' is not a setting", "Write key=value, after the model and one task or file")
    require_here(task)
    if Path(task).suffix and not (is_data(task) or in_file(task)):
        raise UserError(f"{task}: no such file", f"{nearest(task, near_files(task))}Name a data file or a task")
