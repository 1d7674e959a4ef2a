"""`finetune export`: a graph of a run's model, checked on the run's dev rows before its folder appears. Read first."""

import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from finetune.analysis.card import model_card
from finetune.commands.export.graph import SERVE, graph_inputs, write_graph, write_in_int8
from finetune.commands.export.plan import MAKES_GRAPHS, ChangedAnswer, Export, require_new_folder
from finetune.data.atomic import replace_folder, settle, temporary_folder
from finetune.data.checksums import ABOUT, write_checksums
from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.data.source import Source
from finetune.errors import UserError, first_line
from finetune.inference.exported import export_facts as facts
from finetune.inference.predictor import Predictor, load_predictor
from finetune.inference.temperature import with_dev_temperature
from finetune.inference.thresholds import FILE as CLAIMS
from finetune.inference.thresholds import claims_of
from finetune.metrics.significance import RESAMPLES
from finetune.metrics.sums import Counted
from finetune.models.device import build_accelerator
from finetune.models.families import most_tokens
from finetune.models.model_folder import load_trained
from finetune.runs.environment import versions
from finetune.runs.events import Note, Watcher, Working
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run, named_run
from finetune.runs.predictions import read_predictions
from finetune.runs.record_files import load_record
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import row_of_line
from finetune.task_types.prepare import load_splits
from finetune.task_types.registry import find
from finetune.task_types.resampling import difference_of, resampled_metrics
from finetune.task_types.task import Task
from finetune.training.evaluation import decided_as_dev

CLOSE = 1e-4  # of the largest logit, or of 1: more is not from the order of additions
ALIKE = 0.01  # standard deviations of a run's numbers: numbers that are closer are one answer
ROUNDING = 1e-9  # points: 85.0 to 84.5 is a loss of 0.5 and a bit in binary numbers
# What prediction reads besides the weights; a checkpoint's folder may have anything else, such as optimizer states.
SETTINGS = re.compile(r"(?!adapter|checksums\.json)[\w-][\w.-]*(?<!\.index)\.(json|txt|model)", re.ASCII)


def export_model(
    model: str,
    folder: Path,
    *,
    int8: bool,
    tolerance: float,
    force: bool,
    task: str | None,
    source: Source,
    out: Path,
    watch: Watcher,
) -> Export:
    """Writes the folder of an export. Raises UserError where it does not answer as the run does, and writes nothing."""
    named = None if task is None else find(task)
    predictor = load_predictor(model, task=named, out=out, watch=watch, device="cpu")
    trained, engine = predictor.folder, predictor.torch_engine
    assert trained is not None
    if engine.pretrains:
        raise UserError(f"{model} predicts words of a text, and is not exported", "Fine-tune it first, with model=RUN")
    run = find_run(str(Path(model).parent), out) if Path(model).name == "model" else named_run(model, out)
    rows = _dev_rows(predictor, run, source, named=named)
    try:
        with temporary_folder(folder.absolute()) as scratch:
            temperature = None
            with suppress(UserError):  # not a run, or its probabilities are not a softmax
                temperature = with_dev_temperature(predictor, model, "dev", out=out).temperature
            about = facts.ExportSource(
                task=predictor.task.name, run=model if run is None else run.path.name,
                fingerprint=predictor.fingerprint, temperature=temperature,
            )  # fmt: skip
            made = _write_graph(
                trained, predictor.task, scratch, about, tolerance=tolerance if int8 else None, watch=watch
            )
            _describe(scratch, made)
            watch(Working(f"checking {so_many(len(rows))}"))
            check, changed, close = checked_export(predictor, load_predictor(scratch, task=named), rows, run)
            _require_as_good(check, predictor, close=close, tolerance=made.tolerance)
            made = replace(made, check=check)
            if run is not None and (claims := claims_of(run)) is not None:
                (scratch / CLAIMS).write_text(claims.text(), encoding="utf-8")
            _describe(scratch, made)
            if run is not None:
                card = model_card(run, exports={folder.absolute().name: made})
                (scratch / ABOUT).write_text(card, encoding="utf-8")
            settle(scratch)
            require_new_folder(folder, force=force)  # something may have been put there in the meantime
            replace_folder(scratch, folder.absolute())
    except OSError as error:
        why = error.strerror or first_line(error)
        raise UserError(f"{folder}: cannot be written ({why})", "Free space, or name another folder") from error
    notes = []
    if (precision := engine.computes_in[1]) not in ("no", "fp32"):
        notes = [f"the export is compared with the run in fp32; here the run predicts in {precision}"]
        watch(Note(notes[0]))
    size, before = _size(folder, "model.*"), _size(trained, "*.safetensors", "pytorch_model*.bin")
    return Export(folder=folder, facts=made, size=size, size_before=before, changed=changed, notes=notes)


def _size(folder: Path, *patterns: str) -> int:
    return sum(file.stat().st_size for pattern in patterns for file in folder.glob(pattern))


def _dev_rows(predictor: Predictor, run: RunFolder | None, source: Source, *, named: Task | None) -> Sequence[Row]:
    """The rows of a run's first dev split, from its predictions; without a run those of the task's data.

    Raises UserError where they are not there: so for a model of a user's own data without its run, unless a task is
    `named`.
    """
    if run is not None:
        lines = read_predictions(run.predictions(load_record(run.record_file).first_split), without=("n_best",))
        return [row_of_line(predictor.task, line, run.path) for line in lines]
    if named is None and predictor.layout is not None:
        raise UserError(
            f"{predictor.folder} is a model without its run, whose dev rows an export is checked with",
            "Export the run where it was trained: finetune export RUN -o FOLDER",
        )
    split = predictor.task.dev_splits[0]
    return load_splits(predictor.task, source, names=[split])[split].rows


def _write_graph(
    trained: Path, task: Task, scratch: Path, source: facts.ExportSource, *, tolerance: float | None, watch: Watcher
) -> facts.ExportFacts:
    """Writes the graph, in int8 where a `tolerance` is known, and what prediction reads next to it; returns its facts
    but for the check.
    """
    int8 = tolerance is not None
    for file in trained.iterdir():
        if file.is_file() and SETTINGS.fullmatch(file.name):
            shutil.copy(file, scratch)
    model, machine, bits = load_trained(trained, task.head), facts.this_machine(), None
    watch(Working("tracing"))
    graph = scratch / ("fp32.onnx" if int8 else facts.GRAPH)
    nodes = write_graph(model, graph)
    if int8:
        watch(Working("weights to int8"))
        bits = 7 if machine.saturates else 8
        write_in_int8(graph, scratch / facts.GRAPH, nodes, bits=bits)
        for file in scratch.glob(f"{graph.name}*"):  # weights may be in a file next to it
            file.unlink()
    head = facts.ExportedHead(
        labels=model.head.labels, by_position=model.by_position, most_tokens=most_tokens(model.backbone.encoder)
    )
    known: dict[str, Any] = {"precision": "int8" if int8 else "fp32", "bits": bits, "inputs": graph_inputs(model)}
    libraries = versions() | {name: version(name) for name in MAKES_GRAPHS}
    return facts.ExportFacts(
        **known, head=head, source=source, made_for=machine, versions=libraries, tolerance=tolerance
    )


def _describe(folder: Path, made: facts.ExportFacts) -> None:
    """Writes export.json, and the checksums of all files."""
    facts.write_export_facts(folder, made)
    write_checksums(folder)


def checked_export(
    run: Predictor, export: Predictor, rows: Sequence[Row], folder: RunFolder | None
) -> tuple[facts.ExportCheck, Sequence[ChangedAnswer], bool]:
    """What export.json says of the check, the rows that a run, in fp32, and its export answer differently, and whether
    the logits are the run's but for rounding: then these are ties.

    Both are scored as the run's dev was: where that chose options, such as thresholds, those of each row are chosen on
    others. The headline is tested as `finetune compare` does.
    """
    accelerator = build_accelerator(torch.device("cpu"), "fp32")
    run = replace(run, engine=replace(run.torch_engine, accelerator=accelerator))
    task, metric, record = run.task, run.task.metrics[0], None if folder is None else folder.record()
    (a, ours), (b, theirs) = _answered(run, rows), _answered(export, rows)
    difference = float(np.fmax.reduce(np.abs(a - b), initial=0.0))  # without what is infinite in both
    changed = _changed(task, rows, ours, theirs)
    sides = [
        resampled_metrics(task, decided_as_dev(task, record, side, rows), rows)[metric.name] for side in (ours, theirs)
    ]
    quick = all(isinstance(side, Counted) for side in sides)
    found = difference_of(metric, sides[:1], sides[1:], resamples=RESAMPLES if quick else RESAMPLES // 10)
    score = None
    if np.isfinite([found.a, found.b]).all():
        low, high = map(metric.scaled, found.interval or (np.nan, np.nan))
        score = facts.ScoresOfBoth(
            metric=metric.name, run=metric.scaled(found.a), export=metric.scaled(found.b),
            difference=metric.scaled(found.value), interval=found.interval and (low, high), p=found.p,
        )  # fmt: skip
    check = facts.ExportCheck(
        rows=len(rows), largest_difference=difference, equal=len(rows) - len(changed),
        changed=tuple(one.id for one in changed), score=score,
    )  # fmt: skip
    return check, changed, difference <= CLOSE * np.abs(a[np.isfinite(a)]).max(initial=1.0)


def _answered(predictor: Predictor, rows: Sequence[Row]) -> tuple[np.ndarray, list[Answer]]:
    """All logits as one array, and the answers."""
    features = predictor.encoded(rows)
    logits = predictor.engine.logits(features)
    return np.concatenate([each.ravel() for each in logits]), predictor.task.decode(logits, features, rows)


def _changed(task: Task, rows: Sequence[Row], *sides: Sequence[Answer]) -> list[ChangedAnswer]:
    """The rows with two answers."""
    a, b = ([task.cells(*pair)["prediction"] for pair in zip(side, rows, strict=True)] for side in sides)
    apart = ALIKE * float(np.std(a)) if isinstance(a[0], float) else None
    return [
        ChangedAnswer(id=str(row.id), text=str(getattr(row, "input", "")), run=own, export=other)
        for row, own, other in zip(rows, a, b, strict=True)
        if (own != other if apart is None else abs(own - other) > apart)
    ]


def _require_as_good(check: facts.ExportCheck, run: Predictor, *, close: bool, tolerance: float | None) -> None:
    """Raises UserError for a graph with other logits than the run's, and for int8 that loses more points of the
    headline than is tolerated, or where that is undefined, changes more percent of the answers.
    """
    metric, share = run.task.metrics[0], 100 * len(check.changed) / check.rows
    changed = f"{len(check.changed):,} of {so_many(check.rows)} have another answer"
    if tolerance is None:
        if not close:
            kind = run.torch_engine.model.backbone.config.model_type
            what = f"the graph of this encoder of type '{kind}' does not compute the same: its logits differ by up to"
            raise UserError(f"{what} {check.largest_difference:.2g}, and {changed}", SERVE)
        return
    lost, what = share, f"int8 has {metric.name} undefined"
    if check.score is not None:
        lost = -check.score.difference if metric.greater_is_better else check.score.difference
        what = f"int8 loses {lost:.2f} points of {metric.name}"
    if not lost <= tolerance + ROUNDING:
        what = f"{what}, where `tolerance` is {tolerance:g}, and {changed}"
        raise UserError(what, "Leave `int8` out, or raise `tolerance`")
