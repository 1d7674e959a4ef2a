"""`finetune score`: scores a file of predictions."""

import json
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import Data, Json
from finetune.cli.terminal import echo, one_line
from finetune.data.source import source_of
from finetune.inference.score_answers import score_file
from finetune.task_types.options import configured
from finetune.task_types.registry import find
from finetune.training.targets import split_arguments


def score(
    task: Annotated[str, typer.Argument(help="The task, such as squad-v1.")],
    answers: Annotated[Path, typer.Argument(help="JSON: the prediction of each row id.")],
    settings: Annotated[list[str] | None, typer.Argument(help="The task's options as key=value.")] = None,
    null_odds: Annotated[Path | None, typer.Option(help="JSON: the odds of no answer of each id (SQuAD 2.0).")] = None,
    split: Annotated[str, typer.Option(help="The split of the predictions.")] = "dev",
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Prints the scores and the thresholds that were used."""
    _, options = split_arguments(settings or [])
    found = configured(find(task), options)
    scored = score_file(found, answers, source=source_of(data), split=split, null_odds=null_odds)
    words = [f"{name} {found.metric(name).scaled(score):.3f}" for name, score in scored.scores.items()]
    words += [f"{name} {value:.6g}" for name, value in scored.thresholds.items()]
    for note in scored.notes:
        echo(one_line(f"note: {note}"), err=True)
    echo(json.dumps(scored.scores | scored.thresholds) if as_json else f"{split} {', '.join(words)}")
