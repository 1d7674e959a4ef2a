"""`finetune predict`: predictions for the rows of a file or lines of standard input."""

import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from finetune.cli.arguments import RESULTS, Device, Escape, Json, Out, Quiet, TaskOf
from finetune.cli.console import standard_error, standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.options import note_line
from finetune.cli.progress import ProgressDisplay
from finetune.cli.terminal import echo, one_line
from finetune.data.messages import noun, so_many
from finetune.errors import UserError
from finetune.inference.predict_plan import default_output, require_predictable
from finetune.metrics.scores import plain_metrics
from finetune.runs.events import unwatched
from finetune.task_types.registry import find
from finetune.task_types.task import Task
from finetune.training.targets import split_arguments


def predict(
    model: Annotated[str, typer.Argument(help="A run (folder, id, or its task), or any fine-tuned checkpoint.")],
    file: Annotated[str, typer.Argument(help="A data file in any format; - reads lines from standard input.")],
    settings: Annotated[
        list[str] | None, typer.Argument(help="text=COLUMN, label=COLUMN, encoding=NAME, temperature=dev.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Default: NAME.predicted.SUFFIX here.")] = None,
    escape: Escape = False,
    task: TaskOf = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Writes the predictions to a file, or prints them for rows from standard input."""
    _, given = split_arguments(settings or [])
    if file == "-" and (output or escape or given.keys() - {"temperature"}):
        raise UserError(
            "-o, --escape-formulas and column settings do not apply to lines of standard input", "Leave them out"
        )
    named = None if task is None else find(task)
    to = output or default_output(Path(file))
    if file != "-":
        require_predictable(model, Path(file), to, given, out=out)
    load_libraries("" if quiet else f"{file}: loading {model}", "finetune.inference.predict_file")
    from finetune.inference.answer_rows import answer_lines, lines_of
    from finetune.inference.predict_file import predict_file
    from finetune.inference.predictor import load
    from finetune.inference.temperature import with_dev_temperature

    display = None if quiet or file == "-" else ProgressDisplay(standard_error())
    watch = display or unwatched
    with display or nullcontext():
        predictor = load(model, task=named, out=out, watch=watch, device=device)
        if "temperature" in given:
            predictor = with_dev_temperature(predictor, model, given.pop("temperature"), out=out)
        if file == "-":
            for answer in answer_lines(predictor, lines_of(sys.stdin)):
                echo(json.dumps(answer, ensure_ascii=False))
            return
        options = {name: str(value) for name, value in given.items()}
        found = predict_file(predictor, Path(file), to, options=options, watch=watch, escape=escape)
    echo(json.dumps(found.facts(to)) if as_json else _summary(found.facts(to), predictor.task))
    if not (as_json or quiet):
        standard_output().print_next(f"finetune evaluate {model} FILE, for a file with labels")


def _summary(facts: Mapping[str, Any], task: Task) -> str:
    """What was done, in a few lines; with scores if the file has labels."""
    lines = [f"{so_many(facts['rows'])} in {facts['seconds']:.1f} s -> {facts['output']}"]
    if count := facts["errors"]:
        lines.append(f"{so_many(count)} {noun(count, 'has', 'have')} no prediction: the column `error` says why")
    lines += [one_line(note_line(note)) for note in facts["notes"]]
    scores: dict[str, float] = facts["scores"]
    if scores:
        shown = {name: task.metric(name).shown(score) for name, score in scores.items()}
        lines.append(one_line(", ".join(f"{name} {shown[name]}" for name in plain_metrics(scores))))
        labels = dict.fromkeys(name.rpartition("/")[0] for name in scores if "/" in name)
        lines += [
            one_line(f"  {label}: ")
            + ", ".join(f"{n.rpartition('/')[2]} {v}" for n, v in shown.items() if n.rpartition("/")[0] == label)
            for label in labels
        ]
    return "\n".join(lines)
