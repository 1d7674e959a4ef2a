"""`finetune predict`: predictions for the rows of a file or lines of standard input."""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finetune.api.planning import require_on
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
from finetune.data.atomic import write_atomically
from finetune.data.messages import noun, percent, so_many
from finetune.data.paths import is_folder, require_own_folder
from finetune.errors import UserError
from finetune.inference.asked import asked_answers
from finetune.inference.predict_plan import require_predictable
from finetune.metrics.scores import plain_metrics
from finetune.runs.events import unwatched
from finetune.task_types.registry import find
from finetune.task_types.task import Task
from finetune.training.targets import split_arguments

if TYPE_CHECKING:
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
    require_on(on)
    files = [] if file == "-" else _parquet_files(Path(file))
    if on is not None and not files:
        raise UserError("`on` is for a folder of Parquet", "Leave it out, or name a folder")
    if task is not None:
        find(task)
    asked = asked_answers(coverage, risk, precision, label_sets)
    source = {"model": model, "task": task, "out": str(out), "device": device, "asked": asked}
    source["temperature"] = given.get("temperature")
    if file == "-":
        _predict_lines(source, quiet=quiet)
    elif files:
        to = _require_folder(Path(file), output, escape=escape)
        require_predictable(model, files[0], to / files[0].name, given, out=out, force=True)
        if on is None:
            _predict_folder(Path(file), files, to, given, source=source, as_json=as_json, quiet=quiet)
        else:
            load_for(model, "" if quiet else f"{file}: loading Ray", "finetune.inference.model_source")
            from finetune.commands.predict.on_ray import predict_on_ray

            say(predict_on_ray(source, Path(file), to, _columns(given)))
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
        found = predict_file(predictor, file, to, options=_columns(given), watch=watch, escape=escape)
    if as_json:
        echo(json.dumps(found.facts(to)))
        return
    claimed = predictor.unsure.claimed if predictor.unsure else ""
    say(_summary(found.facts(to), predictor.task, claimed))
    if not quiet:
        kept = GivenOptions(out=Path(source["out"]), device=source["device"])
        if not found.scores:
            standard_output().print_next(kept.command("evaluate", source["model"], "FILE"))


def _columns(given: Mapping[str, Any]) -> dict[str, str]:
    """The settings that say how a file is read."""
    return {name: str(value) for name, value in given.items() if name != "temperature"}


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


def _predict_folder(
    folder: Path,
    files: Sequence[Path],
    output: Path,
    given: Mapping[str, Any],
    *,
    source: Mapping[str, Any],
    as_json: bool,
    quiet: bool,
) -> None:
    """Predicts files one after the other, without those whose output is whole; prints a summary of each.

    Raises UserError, after the others are predicted, where a file could not be.
    """
    doing = f"{so_many(len(files), 'file')}: loading {source['model']}"
    load_for(source["model"], "" if quiet else doing, "finetune.inference.predict_file")
    from finetune.inference.model_source import ModelSource
    from finetune.inference.predict_file import predict_file

    display, failed = None if quiet else ProgressDisplay(standard_error()), []
    with display or nullcontext():
        predictor = ModelSource(**source).load(watch=display or unwatched)
    _mark(output, predictor, given)
    left = [file for file in files if not _is_whole(output / file.relative_to(folder), file)]
    if not left:
        say(f"{output}: every file is predicted already")
    for file in left:
        to = output / file.relative_to(folder)
        to.parent.mkdir(parents=True, exist_ok=True)
        try:
            with display or nullcontext():
                found = predict_file(predictor, file, to, options=_columns(given), watch=display or unwatched)
        except UserError as error:
            failed.append(error.what)
            continue
        claimed = predictor.unsure.claimed if predictor.unsure else ""
        echo(json.dumps(found.facts(to))) if as_json else say(_summary(found.facts(to), predictor.task, claimed))
    if failed:
        what = f"{len(failed)} of {so_many(len(files), 'file')} {noun(len(failed), 'is', 'are')} not predicted"
        raise UserError(f"{what}: {failed[0]}", "Fix what is wrong, and run the same command")


def _mark(output: Path, predictor: "Predictor", given: Mapping[str, Any]) -> None:
    """Writes which model an output is of. Raises UserError where it has files of another one."""
    facts = [predictor.fingerprint, *predictor.engine.computes_in, *sorted(_columns(given).items())]
    mark, model = output / MODEL, hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    if any(output.rglob("*.parquet")) and not (mark.is_file() and mark.read_text(encoding="utf-8") == model):
        raise UserError(f"{output}: has files of another model, device or column", "Name another folder with -o")
    write_atomically(mark, model)


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
        shown = {name: task.metric(name).shown(score) for name, score in scores.items()}
        lines.append(one_line(", ".join(f"{name} {shown[name]}" for name in plain_metrics(scores))))
        labels = dict.fromkeys(name.rpartition("/")[0] for name in scores if "/" in name)
        lines += [
            one_line(f"  {label}: ")
            + ", ".join(f"{n.rpartition('/')[2]} {v}" for n, v in shown.items() if n.rpartition("/")[0] == label)
            for label in labels
        ]
    return "\n".join(lines)
