"""`finetune export`: a graph of a run's model, checked on the run's dev rows before its folder appears. Read first."""

import re
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from finetune.analysis.card import model_card
from finetune.commands.export import MAKES_GRAPHS, Export, require_new_folder
from finetune.commands.export.graph import SERVE, graph_inputs, write_graph, write_in_int8
from finetune.data.atomic import replace_folder, settle, temporary_folder
from finetune.data.checksums import ABOUT, write_checksums
from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.data.source import Source
from finetune.errors import UserError, first_line
from finetune.inference.export_facts import (
    GRAPHS,
    ExportCheck,
    ExportedHead,
    ExportFacts,
    ExportSource,
    HeadlineOfBoth,
    write_export_facts,
)
from finetune.inference.predictor import Predictor, load_predictor
from finetune.models.device import build_accelerator
from finetune.models.families import most_tokens
from finetune.models.model_folder import load_trained
from finetune.runs.events import Note, Watcher, Working
from finetune.runs.folder import RunFolder, read_predictions
from finetune.runs.lookup import find_run, named_run
from finetune.runs.process import versions
from finetune.runs.record_files import load_record
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import row_of_line
from finetune.task_types.prepare import load_splits
from finetune.task_types.registry import find
from finetune.task_types.task import Task

CLOSE = 1e-4  # of the largest logit, or of 1: more is not from the order of additions
ROUNDING = 1e-9  # points: 85.0 to 84.5 is a loss of 0.5 and a bit in binary numbers
ALIKE = 0.01  # standard deviations of a run's numbers: numbers that are closer are one answer
# What prediction reads besides the weights; a checkpoint's folder may have anything else, such as optimizer states.
SETTINGS = re.compile(r"[\w-][\w.-]*(?<!\.index)\.(json|txt|model)", re.ASCII)
NOT_COPIED = ("adapter", "checksums.json", "modules.json", "sentence_bert")


def export_model(
    model: str,
    folder: Path,
    *,
    tolerance: float | None,
    force: bool,
    task: str | None,
    source: Source,
    out: Path,
    watch: Watcher,
) -> Export:
    """Writes the folder of an export, with weights in int8 where a `tolerance` is known, in points of the headline.

    Raises UserError where it does not answer as the run does, and writes nothing.
    """
    named = None if task is None else find(task)
    predictor = load_predictor(model, task=named, out=out, watch=watch, device="cpu")
    trained, engine = predictor.folder, predictor.torch_engine
    assert trained is not None
    if engine.model.head.pretrains:
        raise UserError(f"{model} predicts words of a text, and is not exported", "Fine-tune it first, with model=RUN")
    run = find_run(str(Path(model).parent), out) if Path(model).name == "model" else named_run(model, out)
    rows = _dev_rows(predictor, run, source, named=named)
    about = ExportSource(
        task=predictor.task.name, run=model if run is None else run.path.name, fingerprint=predictor.fingerprint
    )
    try:
        with temporary_folder(folder.absolute()) as scratch:
            watch(Working("tracing"))
            facts = _write_graph(trained, predictor.task, scratch, about, int8=tolerance is not None)
            _describe(scratch, facts)
            watch(Working(f"checking {so_many(len(rows))}"))
            check = checked_export(predictor, load_predictor(scratch, task=named), rows, tolerance)
            facts = replace(facts, check=check, tolerance=tolerance)
            if run is not None:
                (scratch / ABOUT).write_text(model_card(run), encoding="utf-8")
            _describe(scratch, facts)
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
    size = sum(file.stat().st_size for file in (folder / "onnx").iterdir())
    return Export(folder=folder, facts=facts, size=size, notes=notes)


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


def _write_graph(trained: Path, task: Task, scratch: Path, source: ExportSource, *, int8: bool) -> ExportFacts:
    """Writes the graph, and what prediction reads next to it; returns its facts without the check."""
    for file in trained.iterdir():
        if file.is_file() and SETTINGS.fullmatch(file.name) and not file.name.startswith(NOT_COPIED):
            shutil.copy(file, scratch)
    model = load_trained(trained, task.head)
    graph = scratch / GRAPHS["int8" if int8 else "fp32"]
    graph.parent.mkdir()
    with TemporaryDirectory(dir=scratch) if int8 else nullcontext(graph.parent) as place:
        whole = Path(place, graph.name)
        nodes = write_graph(model, whole)  # weights may be in a file next to it
        if int8:
            write_in_int8(whole, graph, nodes)
    head = ExportedHead(
        labels=model.head.labels, by_position=model.by_position, most_tokens=most_tokens(model.backbone.encoder)
    )
    libraries = versions() | {name: version(name) for name in MAKES_GRAPHS}
    facts = ExportFacts(inputs=graph_inputs(model), head=head, source=source, versions=libraries)
    return replace(facts, precision="int8", bits=7) if int8 else facts


def _describe(folder: Path, facts: ExportFacts) -> None:
    write_export_facts(folder, facts)
    write_checksums(folder)


def checked_export(run: Predictor, export: Predictor, rows: Sequence[Row], tolerance: float | None) -> ExportCheck:
    """What export.json says of the check, in which the run computes in fp32.

    Raises UserError for a graph with other logits than the run's, but in int8, with a `tolerance`, for one that loses
    more points of the headline. Both sides decide with the options that the run has, such as thresholds.
    """
    task, engine = run.task, run.torch_engine
    run = replace(run, engine=replace(engine, accelerator=build_accelerator(torch.device("cpu"), "fp32")))
    (logits, ours), (other_logits, theirs) = _answered(run, rows), _answered(export, rows)
    answers = (ours, theirs)
    difference = float(np.fmax.reduce(np.abs(logits - other_logits), initial=0.0))  # without what is infinite in both
    changed, score = _changed(task, rows, answers), None
    if tolerance is not None:
        metric = task.metrics[0]
        run_score, score_there = (metric.scaled(task.score(side, rows)[metric.name]) for side in answers)
        lost = metric.towards_better(run_score - score_there)
        if not lost <= tolerance + ROUNDING:  # nor where a score is undefined
            raise UserError(
                f"int8 loses {lost:.2f} points of {metric.name}, where `tolerance` is {tolerance:g}",
                "Leave `int8` out, or raise `tolerance`",
            )
        score = HeadlineOfBoth(metric=metric.name, run=run_score, export=score_there)
    elif difference > CLOSE * np.abs(logits[np.isfinite(logits)]).max(initial=1.0):
        raise UserError(
            f"the graph of this encoder of type '{engine.model.backbone.config.model_type}' does not compute the same:"
            f" its logits differ by up to {difference:.2g}, and {len(changed):,} of {so_many(len(rows))} have another"
            " answer",
            SERVE,
        )
    return ExportCheck(
        rows=len(rows), largest_difference=difference, equal=len(rows) - len(changed), changed=changed, score=score
    )


def _answered(predictor: Predictor, rows: Sequence[Row]) -> tuple[np.ndarray, list[Answer]]:
    """All logits as one array, and the answers."""
    features = predictor.encoded(rows)
    logits = predictor.engine.logits(features)
    return np.concatenate([array.ravel() for array in logits]), predictor.task.decode(logits, features, rows)


def _changed(task: Task, rows: Sequence[Row], sides: Sequence[Sequence[Answer]]) -> tuple[str, ...]:
    a, b = ([task.cells(*pair)["prediction"] for pair in zip(side, rows, strict=True)] for side in sides)
    apart = ALIKE * float(np.std(a)) if isinstance(a[0], float) else None
    return tuple(
        row.id
        for row, before, other in zip(rows, a, b, strict=True)
        if (before != other if apart is None else abs(before - other) > apart)
    )
