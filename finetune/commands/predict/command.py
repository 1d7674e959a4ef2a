"""`finetune predict`: predictions for the rows of a file or lines of standard input."""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from finetune.cli.console import standard_output
from finetune.cli.libraries import load_for
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, one_line, say
from finetune.data.atomic import write_atomically
from finetune.data.messages import noun, percent, so_many
from finetune.data.paths import is_folder, require_own_folder
from finetune.errors import UserError
from finetune.gone import gone
from finetune.inference.asked import asked_answers
from finetune.inference.model_source import ModelSource
from finetune.inference.predict_plan import require_predictable
from finetune.metrics.metric import find_metric
from finetune.metrics.scores import plain_metrics
from finetune.task_types.registry import find
from finetune.task_types.task import Task
from finetune.training.targets import split_arguments

if TYPE_CHECKING:
    from finetune.inference.predict_file import Prediction
    from finetune.inference.predictor import Predictor

MODEL = ".model"  # in the output of a folder: a hash of the model that made what is there


def predict_command(
    model: Annotated[
        str, typer.Argument(help="A run (folder, id, or its task), an export, or any fine-tuned checkpoint.")
    ],
    file: Annotated[
        str,
        typer.Argument(help="A data file in any format, or a folder of Parquet; - reads lines from standard input."),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="text=COLUMN, label=COLUMN, encoding=NAME, sheet=NAME, temperature=dev."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Default: NAME.predicted.SUFFIX here.")] = None,
    on: Annotated[str | None, typer.Option("--on", help="Predict a folder of Parquet with `ray`.")] = None,
    coverage: Coverage = None,
    risk: Risk = None,
    precision: Precision = None,
    label_sets: LabelSets = None,
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
        raise UserError(f"predict takes a file or a folder of Parquet, and not also {others[0]}", "Name a folder")
    if file == "-" and (output or escape or given.keys() - {"temperature"}):
        raise UserError(
            "-o, --escape-formulas and column settings do not apply to lines of standard input", "Leave them out"
        )
    if on not in (None, "ray"):
        raise gone(str(on)) or UserError(f"`on` is '{on}'", "Give ray, or leave it out")
    lines, path = file == "-", Path(file)
    files = [] if lines else _parquet_files(path)
    if on is not None and not files:
        raise UserError("`on` is for a folder of Parquet", "Leave it out, or name a folder")
    if task is not None:
        find(task)
    source = ModelSource(
        model=model,
        task=task,
        out=str(out),
        device=device,
        temperature=given.pop("temperature", None),
        asked=asked_answers(coverage, risk, precision, label_sets),
    )
    columns, to = {name: str(value) for name, value in given.items()}, Path()
    if files:
        to = _require_folder(path, output, escape=escape)
        require_predictable(model, files[0], to / files[0].name, columns, out=out, force=True)
    elif not lines:
        to = require_predictable(model, path, output, columns, out=out, force=force)
    if on is not None:
        load_for(model, "" if quiet else f"{file}: loading Ray", "finetune.inference.model_source")
        from finetune.commands.predict.on_ray import predict_on_ray

        say(predict_on_ray(source, path, to, columns))
        return
    doing = so_many(len(files), "file") if files else file
    load_for(model, "" if quiet else f"{doing}: loading {model}", "finetune.inference.predict_file")
    with watching(quiet=quiet or lines) as watch:
        predictor = source.load(watch=watch)
    if lines:
        _predict_lines(predictor, quiet=quiet)
    elif files:
        _predict_folder(predictor, path, files, to, columns, as_json=as_json, quiet=quiet)
    else:
        found = _predict_file(predictor, path, to, columns, escape=escape, as_json=as_json, quiet=quiet)
        if not (found.scores or as_json or quiet):
            standard_output().print_next(GivenOptions(out=out, device=device).command("evaluate", model, "FILE"))


def _predict_lines(predictor: "Predictor", *, quiet: bool) -> None:
    from finetune.inference.python_rows import stream_lines

    for note in () if quiet or not predictor.unsure else predictor.unsure.notes:
        say(note_line(note), err=True)
    for cells in predictor.predict_lines(stream_lines(sys.stdin)):
        echo(json.dumps(cells, ensure_ascii=False))


def _predict_file(
    predictor: "Predictor",
    file: Path,
    to: Path,
    columns: Mapping[str, str],
    *,
    escape: bool = False,
    as_json: bool,
    quiet: bool,
) -> "Prediction":
    """Predicts a file, and prints a summary."""
    from finetune.inference.predict_file import predict_file

    with watching(quiet=quiet) as watch:
        found = predict_file(predictor, file, to, options=columns, watch=watch, escape=escape)
    claimed = predictor.unsure.claimed if predictor.unsure else ""
    echo(json.dumps(found.facts(to))) if as_json else say(_summary(found.facts(to), predictor.task, claimed))
    return found


def _predict_folder(
    predictor: "Predictor",
    folder: Path,
    files: Sequence[Path],
    output: Path,
    columns: Mapping[str, str],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Predicts files one after the other, without those whose output is whole; prints a summary of each.

    Raises UserError for an output of another model, and, after the others are predicted, where a file could not be.
    """
    facts = [predictor.fingerprint, *predictor.engine.computes_in, *sorted(columns.items())]
    mark, model = output / MODEL, hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    if any(output.rglob("*.parquet")) and not (mark.is_file() and mark.read_text(encoding="utf-8") == model):
        raise UserError(f"{output}: has files of another model, device or column", "Name another folder with -o")
    write_atomically(mark, model)
    failed, outputs = [], {file: output / file.relative_to(folder) for file in files}
    left = [file for file in files if not _is_whole(outputs[file], file)]
    if not left:
        say(f"{output}: every file is predicted already")
    for file in left:
        outputs[file].parent.mkdir(parents=True, exist_ok=True)
        try:
            _predict_file(predictor, file, outputs[file], columns, as_json=as_json, quiet=quiet)
        except UserError as error:
            failed.append(error.what)
    if failed:
        what = f"{len(failed)} of {so_many(len(files), 'file')} {noun(len(failed), 'is', 'are')} not predicted"
        raise UserError(f"{what}: {failed[0]}", "Fix what is wrong, and run the same command")


def _parquet_files(folder: Path) -> list[Path]:
    """The Parquet files below a folder, without hidden ones; none where it is a file."""
    files = sorted(folder.rglob("*.parquet")) if is_folder(folder) else []
    return [file for file in files if not any(part[0] in "._" for part in file.relative_to(folder).parts)]


def _require_folder(folder: Path, output: Path | None, *, escape: bool) -> Path:
    """The output. Raises UserError where it is not a folder apart from the files, and for `escape`."""
    if output is None or (output.exists() and not is_folder(output)):
        raise UserError("a folder of Parquet is predicted into a folder", "Name one with -o")
    require_own_folder(output)
    if output.resolve().is_relative_to(folder.resolve()) or folder.resolve().is_relative_to(output.resolve()):
        raise UserError(f"{output}: is in the folder of the files, or holds it", "Name another folder with -o")
    if escape:
        raise UserError("--escape-formulas does not apply to Parquet", "Leave it out")
    output.mkdir(parents=True, exist_ok=True)
    return output


def _is_whole(output: Path, file: Path) -> bool:
    """Whether an output has as many rows as its file, and was written after it; a file without rows needs none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_metadata(file.absolute()).num_rows
        there = not rows or pq.read_metadata(output.absolute()).num_rows == rows
        return there and (not rows or output.stat().st_mtime_ns >= file.stat().st_mtime_ns)
    except (OSError, pa.ArrowException):
        return False


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
