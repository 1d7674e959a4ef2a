"""Builds the record of a finished run, with what it saw of its rows and of its own predictions."""

import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from accelerate.utils import gather_object

from finetune.data.characters import same_text
from finetune.data.messages import percent
from finetune.data.paths import from_here
from finetune.data.rows import HashedRows, OwnRow, Row, Rows
from finetune.data.source import Source
from finetune.metrics.metric import Scores
from finetune.models.device import describe_device, main_memory, peak_memory
from finetune.models.families import most_tokens
from finetune.models.feature import truncated_rows
from finetune.models.freezing import parameter_counts
from finetune.runs import process
from finetune.runs.record import (
    LONGEST_LABEL,
    MOST_COMPARED,
    MOST_LABELS,
    MOST_WORDS,
    Cost,
    Observed,
    RunRecord,
    saved_metrics,
)
from finetune.runs.verdict import dev_choices
from finetune.task_types.options import option_values
from finetune.task_types.own_type import counts_of_labels
from finetune.task_types.parts import Answer
from finetune.task_types.prepare import truncated_share
from finetune.task_types.resampling import margin
from finetune.task_types.task import Task
from finetune.task_types.types import type_of
from finetune.training.evaluation import Answers, official_scores
from finetune.training.extras import RunState

NEARLY_ALL = 0.95  # share of the training rows that the advised length does not cut
SAMPLE_ROWS = 2_000  # whose tokens are counted
STEP = 64  # the advised length is a multiple of it
LEAST_SPREAD = 0.01  # of predicted numbers, as a share of that of the labels: less is one number


def run_cost(accelerator: Accelerator, seconds: float) -> Cost:
    """What a run cost so far in all its processes, each of which must call it with its seconds."""
    device = accelerator.device
    mine = Cost(
        device_seconds=seconds,
        peak_memory_bytes=main_memory(),
        peak_device_bytes=peak_memory(device) if device.type == "cuda" else None,
    )
    costs = gather_object([mine]) if accelerator.num_processes > 1 else [mine]
    on_devices: Any = [cost.peak_device_bytes for cost in costs]
    return Cost(
        device_seconds=sum(cost.device_seconds for cost in costs),
        peak_memory_bytes=sum(cost.peak_memory_bytes for cost in costs),
        peak_device_bytes=None if None in on_devices else sum(on_devices),
    )


def build_record(run: RunState, baselines: Mapping[str, Answers], *, started: float) -> RunRecord:
    """The record of a finished run; `baselines` are their predictions by split and method, `started` seconds."""
    task, splits, rows, found, progress = run.task, run.splits, run.rows, run.found, run.progress
    source, typed = run.source, run.resolved.typed
    origins = {split: _origin(loaded, source) for split, loaded in splits.items()}
    scores = {split: official_scores(found.task, answers, rows[split]) for split, answers in found.answers.items()}
    first, answers = next(iter(found.answers.items()))
    counts = {
        split: _frequent(task, [row.gold for row in labelled])
        for split, labelled in rows.items()
        if not isinstance(labelled, HashedRows)
    }
    observed = Observed(
        constant=None if run.model.head.pretrains else _constant(found.task, answers, rows[first]),
        contradicted=_contradicted(task, run.train_rows[:MOST_COMPARED]),
        fitting_length=_fitting_length(run),
        longest_length=most_tokens(run.model.backbone.encoder),
        typed=list(typed) if len(typed) <= MOST_WORDS else [],
        data_folder=from_here(str(source.folder)) if source.explicit else "",
    )
    facts = {
        "id": run.id,
        "task": task.name,
        "task_version": task.version,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "recipe": run.recipe.model_dump(exclude={"grid"}),
        "model": run.weights.name,
        "weights": run.weights.fingerprint,
        "data": run.data,
        "data_origin": origins,
        "data_files": {split: loaded.content for split, loaded in splits.items() if loaded.content},
        "rows": dict(zip(rows, map(len, rows.values()), strict=True)),
        "features": {split: len(encoded) for split, encoded in run.features.items()},
        "truncated": {split: truncated_share(encoded) for split, encoded in run.features.items()},
        "notes": _notes(run, origins, scores),
        "versions": process.versions(),
        "git_commit": process.git_commit(),
        "device": describe_device(run.device),
        "precision": run.precision,
        "processes": run.accelerator.num_processes,
        "examples_per_second": _trained_examples(run) / progress.seconds,
        "peak_memory_bytes": peak_memory(run.device),
        "epochs": [asdict(done) for done in progress.epochs],
        "selected_epoch": progress.selected_epoch,
        "headline": task.metrics[0].name,
        "scores": scores,
        "baselines": {
            split: {method: found.task.score(answers, rows[split]) for method, answers in methods.items()}
            for split, methods in baselines.items()
        },
        "new_weights": run.new_weights,
        "options": option_values(found.task),
        "chosen": list(found.chosen),
        "cross_fitted": hasattr(task, "decide") and bool(found.chosen),
        "metrics": saved_metrics(task.metrics),
        "labels": {split: labels for split, labels in counts.items() if labels},
        "margins": {
            split: margin(found.task, rows[split], answers, baselines[split])
            for split, answers in found.answers.items()
        },
        "lineage": run.lineage,
        "findings": list(run.findings),
        "observed": observed,
        "parameters": parameter_counts(run.model),
        "seconds": {"total": time.perf_counter() - started, "training": progress.seconds},
    }
    record = RunRecord(**facts | run.facts)
    return record.model_copy(update={"notes": list(dict.fromkeys([*record.notes, *dev_choices(record)]))})


def _trained_examples(run: RunState) -> int:
    """The rows of all epochs, or where a run's length is in updates the features of all batches."""
    train = run.recipe.train.lengthened(len(run.features[run.task.train_split]))
    if train.updates is None:
        return len(run.progress.epochs) * len(run.rows_learned)
    return run.progress.update * train.batch_size


def _notes(run: RunState, origins: Mapping[str, str], scores: Scores) -> list[str]:
    """Notes on the rows, how they fit the encoder, training and predictions."""
    notes, task = list[str](), run.task
    for split, loaded in run.splits.items():
        notes += [note.replace(loaded.origin, origins[split]) for note in loaded.notes]
        notes += run.notes if split == task.train_split else []
    for split, encoded in run.features.items():
        places, cut = truncated_rows(encoded)
        if share := len(np.unique(places[cut])) / len(np.unique(places)):
            lost = task.truncated.format(max_length=run.recipe.max_length)
            notes.append(f"{split}: {percent(share)} of the rows {lost}")
    notes += run.progress.notes
    for split, by_name in scores.items():
        undefined = {name: score for name, score in by_name.items() if not math.isfinite(score)}
        notes += [
            f"{split}: {name} is {score}: it is undefined for these predictions" for name, score in undefined.items()
        ]
    return notes


def _origin(loaded: Rows, source: Source) -> str:
    """Where rows were read from, as a relative path."""
    path = Path(loaded.origin)
    if source.folder is not None and not loaded.content and path.is_relative_to(source.folder):
        return path.relative_to(source.folder).as_posix()
    try:
        return Path(os.path.relpath(path)).as_posix() if path.is_absolute() else loaded.origin
    except ValueError:  # on another drive
        return path.name


def _constant(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> str | None:
    """The one prediction that all rows have, where their labels differ: a label, a number or a text."""
    values, labels = ([answer.value for answer in side] for side in (answers, task.labels_of(rows)))
    if len(set(map(str, labels))) < 2:
        return None
    if all(isinstance(value, float) for value in (*values, *labels)):
        return f"{np.mean(values):.3g}" if np.std(values) < LEAST_SPREAD * np.std(labels) else None
    if len(set(map(str, values))) == 1:
        value = values[0]
        if isinstance(value, list | tuple):
            return ", ".join(map(str, value)) or "no label"
        return str(value) or "no answer"
    return None if _frequent(task, values) or not _frequent(task, labels) else "no label"


def _contradicted(task: Task, rows: Sequence[Row]) -> int:
    """The rows whose text another row has with a different label, as `check` finds them; of numbers, with one that is
    more than their standard deviation away. Of one text several may be written.
    """
    kind = type_of(task)
    if kind is None or isinstance(rows, HashedRows) or not all(isinstance(row, OwnRow) for row in rows):
        return 0
    labels: dict[str, list[Any]] = defaultdict(list)
    for row, label in zip(rows, task.labels_of(rows), strict=True):
        if kind.closed_labels or not isinstance(label.value, str):
            labels[same_text(row.input)].append(label.value)
    values = [value for group in labels.values() for value in group]
    numbers = len(values) == len(rows) and all(isinstance(value, float) for value in values)
    if apart := float(np.std(values)) if numbers else 0.0:
        return sum(len(group) for group in labels.values() if max(group) - min(group) > apart)
    return sum(len(group) for group in labels.values() if len(set(map(str, group))) > 1)


def _fitting_length(run: RunState) -> int:
    """The tokens that nearly all training rows have, rounded up; 0 where none was cut."""
    features = run.features[run.task.train_split]
    step = max(1, len(run.train_rows) // SAMPLE_ROWS)
    texts = [row.input for row in run.train_rows[::step] if isinstance(row, OwnRow)]
    if not texts or not len(features) or not truncated_rows(features)[1].any():
        return 0
    encoded = run.tokenizer(texts, return_attention_mask=False, truncation=False, verbose=False)["input_ids"]
    return math.ceil(float(np.quantile([len(ids) for ids in encoded], NEARLY_ALL)) / STEP) * STEP


def _frequent(task: Task, golds: Sequence[Any]) -> dict[str, int]:
    """The most frequent of labels, or of predictions, which have the form of a label, and their counts; empty for tasks
    without classes, as a text is.
    """
    kind = type_of(task)
    counts = Counter[str]() if kind is None else counts_of_labels(kind, golds)
    if set(counts) == {"no label"}:
        return {}
    return {name[:LONGEST_LABEL]: count for name, count in counts.most_common(MOST_LABELS)}
