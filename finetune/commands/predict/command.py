"""`finetune predict`: predictions for the rows of a file or lines of standard input."""

import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from finetune.cli.arguments import (
    RESULTS,
    Coverage,
    Device,
    Escape,
    Json,
    LabelSets,
    Out,
    Precision,
    Quiet,
    Replace,
    Risk,
    TaskOf,
)
from finetune.cli.console import standard_error, standard_output
from finetune.cli.libraries import load_for
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.progress import ProgressDisplay
from finetune.cli.terminal import echo, one_line, say
from finetune.commands.predict.files import predict_files_command, unsure_lines
from finetune.data.addresses import is_remote
from finetune.data.messages import noun, so_many
from finetune.errors import UserError
from finetune.inference.asked import asked_answers
from finetune.inference.exported.find import model_for_engine
from finetune.inference.predict_plan import require_predictable
from finetune.inference.shards.begin import SUFFIX, is_many
from finetune.inference.shards.executors import require_executor
from finetune.metrics.scores import plain_metrics
from finetune.runs.events import unwatched
from finetune.task_types.registry import find
from finetune.task_types.task import Task
from finetune.training.targets import split_arguments


def predict_command(
    model: Annotated[
        str, typer.Argument(help="A run (folder, id, or its task), an export, or any fine-tuned checkpoint.")
    ],
    file: Annotated[
        str,
        typer.Argument(
            help="A data file in any format; - reads lines from standard input. Several Parquet files, a folder of"
            " them, a pattern or an address (s3://, hf://) are predicted into the folder -o."
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="More files; text=COLUMN, label=COLUMN, encoding=NAME, sheet=NAME, temperature=dev."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Default: NAME.predicted.SUFFIX here.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes that share several Parquet files; default: 1, with --on as many as have room."
        ),
    ] = None,
    on: Annotated[str | None, typer.Option("--on", help="Predict several Parquet files as tasks of `ray`.")] = None,
    gpus_each: Annotated[float | None, typer.Option(help="With --on: GPUs of a task, such as 0.5.")] = None,
    cpus_each: Annotated[int | None, typer.Option(help="With --on: CPU cores, and threads, of a task.")] = None,
    coverage: Coverage = None,
    risk: Risk = None,
    precision: Precision = None,
    label_sets: LabelSets = None,
    escape: Escape = False,
    engine: Annotated[
        str | None,
        typer.Option(help="torch, or onnx with an export in the run's folder; default: torch."),
    ] = None,
    force: Replace = False,
    task: TaskOf = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Writes the predictions to a file, or prints them for rows from standard input."""
    targets, given = _arguments([file, *(settings or [])])
    if file == "-" and (output or escape or given.keys() - {"temperature"}):
        raise UserError(
            "-o, --escape-formulas and column settings do not apply to lines of standard input", "Leave them out"
        )
    tasks = {"on": on, "workers": workers, "gpus_each": gpus_each, "cpus_each": cpus_each}
    many = file != "-" and is_many(targets, output)
    if not many and (wrong := [name for name, value in tasks.items() if value is not None]):
        raise UserError(f"`{wrong[0]}` is for several Parquet files", "Leave it out, or name a folder with -o")
    require_executor(on, gpus_each=gpus_each, cpus_each=cpus_each)
    if task is not None:
        find(task)
    model = model_for_engine(model, engine, out=out)
    device = device or ("cpu" if gpus_each == 0 else None)  # that of tasks without a GPU
    asked = asked_answers(coverage, risk, precision, label_sets)
    source = {"model": model, "task": task, "out": str(out), "device": device, "asked": asked}
    source["temperature"] = given.get("temperature")
    if file == "-":
        _predict_lines(source, quiet=quiet)
    elif many:
        if escape:
            raise UserError("--escape-formulas does not apply to Parquet", "Leave it out")
        predict_files_command(targets, output, given, source=source, tasks=tasks, as_json=as_json, quiet=quiet)
    else:
        to = require_predictable(model, Path(file), output, given, out=out, force=force)
        _predict_file(Path(file), to, given, source=source, escape=escape, as_json=as_json, quiet=quiet)


def _predict_lines(source: Mapping[str, Any], *, quiet: bool) -> None:
    load_for(source["model"], "" if quiet else f"-: loading {source['model']}", "finetune.inference.model_source")
    from finetune.inference.model_source import ModelSource
    from finetune.inference.python_rows import answer_lines, stream_lines

    predictor = ModelSource(**source).load()
    for note in () if quiet or not predictor.unsure else predictor.unsure.notes:
        say(note_line(note), err=True)
    for answer in answer_lines(predictor, stream_lines(sys.stdin)):
        echo(json.dumps(answer, ensure_ascii=False))


def _predict_file(
    file: Path,
    to: Path,
    given: Mapping[str, Any],
    *,
    source: Mapping[str, Any],
    escape: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    doing = "" if quiet else f"{file}: loading {source['model']}"
    load_for(source["model"], doing, "finetune.inference.predict_file")
    from finetune.inference.model_source import ModelSource
    from finetune.inference.predict_file import predict_file

    display = None if quiet else ProgressDisplay(standard_error())
    watch = display or unwatched
    with display or nullcontext():
        predictor = ModelSource(**source).load(watch=watch)
        options = {name: str(value) for name, value in given.items() if name != "temperature"}
        found = predict_file(predictor, file, to, options=options, watch=watch, escape=escape)
    if as_json:
        echo(json.dumps(found.facts(to)))
        return
    claimed = predictor.unsure.claimed if predictor.unsure else ""
    say(_summary(found.facts(to), predictor.task, claimed))
    if not quiet:
        kept = GivenOptions(out=Path(source["out"]), device=source["device"])
        if not found.scores:
            standard_output().print_next(kept.command("evaluate", source["model"], "FILE"))


def _arguments(given: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Files, whose names may have an equals sign, and settings."""
    files = [one for one in given if is_remote(one) or one.endswith(SUFFIX)]
    others, settings = split_arguments([one for one in given if one not in files])
    return [one for one in given if one in files or one in others], settings


def _summary(facts: Mapping[str, Any], task: Task, claimed: str) -> str:
    """What was done, in a few lines; with scores if the file has labels."""
    lines = [f"{so_many(facts['rows'])} in {facts['seconds']:.1f} s -> {facts['output']}"]
    if count := facts["errors"]:
        lines.append(f"{so_many(count)} {noun(count, 'has', 'have')} no prediction: the column `error` says why")
    lines += unsure_lines(facts, claimed)
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
