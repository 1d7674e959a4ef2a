"""`finetune predict`: predictions for the rows of a file or lines of standard input."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finetune.cli.arguments import RESULTS, Coverage, Device, Escape, Json, Out, Quiet, Replace, Risk, TaskOf
from finetune.cli.console import standard_output
from finetune.cli.libraries import load_for
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, one_line, say
from finetune.data.messages import noun, percent, so_many
from finetune.errors import UserError
from finetune.inference.predict_plan import require_predictable
from finetune.inference.unsure import require_share
from finetune.metrics.metric import find_metric, plain_metrics
from finetune.task_types.registry import find
from finetune.task_types.task import Task
from finetune.training.targets import split_arguments

if TYPE_CHECKING:
    from finetune.inference.predictor import Predictor


def predict_command(
    model: Annotated[
        str, typer.Argument(help="A run (folder, id, or its task), an export, or any fine-tuned checkpoint.")
    ],
    file: Annotated[str, typer.Argument(help="A data file in any format; - reads lines from standard input.")],
    settings: Annotated[
        list[str] | None, typer.Argument(help="text=COLUMN, label=COLUMN, encoding=NAME, sheet=NAME.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Default: NAME.predicted.SUFFIX here.")] = None,
    coverage: Coverage = None,
    risk: Risk = None,
    escape: Escape = False,
    force: Replace = False,
    task: TaskOf = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Writes the predictions to a file, or prints them for rows from standard input."""
    others, given = split_arguments(settings or [])
    if others:
        raise UserError(f"predict takes one file, and not also {others[0]}", "Predict each by itself")
    if file == "-" and (output or escape or given):
        raise UserError(
            "-o, --escape-formulas and column settings do not apply to lines of standard input", "Leave them out"
        )
    require_share(coverage, risk)
    named, path, to = None if task is None else find(task), Path(file), Path()
    columns = {name: str(value) for name, value in given.items()}
    if file != "-":
        to = require_predictable(model, path, output, columns, out=out, force=force)
    load_for(model, "" if quiet else f"{file}: loading {model}", "finetune.inference.predict_file")
    from finetune.inference.predict_file import predict_file
    from finetune.inference.predictor import load_predictor

    with watching(quiet=quiet or file == "-") as watch:
        predictor = load_predictor(model, task=named, out=out, watch=watch, device=device)
    predictor = predictor.answering(model, coverage=coverage, risk=risk, out=out)
    if file == "-":
        _predict_lines(predictor, quiet=quiet)
        return
    with watching(quiet=quiet) as watch:
        predicted = predict_file(predictor, path, to, options=columns, watch=watch, escape=escape)
    facts, claimed = predicted.facts(to), predictor.unsure.claimed if predictor.unsure else ""
    echo(json.dumps(facts)) if as_json else say(_summary(facts, predictor.task, claimed))
    if not (predicted.scores or as_json or quiet):
        standard_output().print_next(GivenOptions(out=out, device=device).command("evaluate", model, "FILE"))


def _predict_lines(predictor: "Predictor", *, quiet: bool) -> None:
    from finetune.inference.answer_rows import stream_lines

    for note in () if quiet or not predictor.unsure else predictor.unsure.notes:
        say(note_line(note), err=True)
    for cells in predictor.predict_lines(stream_lines(sys.stdin)):
        echo(json.dumps(cells, ensure_ascii=False))


def _summary(facts: Mapping[str, Any], task: Task, claimed: str) -> str:
    """What was done, in a few lines; with scores if the file has labels."""
    lines = [f"{so_many(facts['rows'])} in {facts['seconds']:.1f} s -> {facts['output']}"]
    if count := facts["errors"]:
        lines.append(f"{so_many(count)} {noun(count, 'has', 'have')} no prediction: the column `error` says why")
    if (unsure := facts.get("unsure")) is not None:
        share = f" ({percent(unsure / max(1, facts['rows']))})" if claimed in ("rows", "answers") else ""
        lines.append(f"{unsure:,} {claimed} unsure{share}: in the column `unsure`")
    lines += [one_line(note_line(note)) for note in facts["notes"]]
    scores: dict[str, float] = facts["scores"]
    if scores:
        shown = {name: find_metric(name, task.metrics).shown(score) for name, score in scores.items()}
        lines.append(one_line(", ".join(f"{name} {shown[name]}" for name in plain_metrics(scores))))
        labels = dict.fromkeys(name.rpartition("/")[0] for name in scores if "/" in name)
        lines += [
            one_line(f"  {label}: ")
            + ", ".join(f"{n.rpartition('/')[2]} {v}" for n, v in shown.items() if n.rpartition("/")[0] == label)
            for label in labels
        ]
    return "\n".join(lines)
