"""`finetune score`: scores a file of predictions."""

import json
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import Data, Json
from finetune.cli.options import note_line
from finetune.cli.terminal import echo, one_line, say
from finetune.commands.score import api as scoring
from finetune.training.targets import split_arguments


def score_command(
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
    scored = scoring.scored(task, answers, options, split=split, null_odds=null_odds, data=data)
    scores = scored.scores[split]
    words = [f"{name} {scored.task.metric(name).scaled(score):.3f}" for name, score in scores.items()]
    words += [f"{name} {value:.6g}" for name, value in scored.thresholds.items()]
    for note in scored.notes:
        say(one_line(note_line(note)), err=True)
    echo(json.dumps({**scores, **scored.thresholds}) if as_json else f"{split} {', '.join(words)}")
