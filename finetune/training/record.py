"""Builds the record of a finished run, with observations on its rows and predictions."""

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
LEAST_SPREAD = 0.01  # standard deviation of predicted numbers by that of the labels; below it they are one number


def run_cost(accelerator: Accelerator, seconds: float) -> Cost:
    """The cost of a run so far, over all processes: each must call this, with its own seconds."""
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
    """The record of a finished run.

    `baselines` are predictions by split and method; `started` is a time of `time.perf_counter`, in seconds.
    """
    task, splits, rows, evaluated, progress = run.task, run.splits, run.rows, run.evaluated, run.progress
    source, typed, answers = run.source, run.resolved.typed, evaluated.answers
    origins = {split: _origin(loaded, source) for split, loaded in splits.items()}
    scores = {split: official_scores(evaluated.task, answers[split], rows[split]) for split in answers}
    first = next(iter(answers))
    train = run.recipe.train.lengthened(len(run.features[task.train_split]))
    examples = len(progress.epochs) * len(run.rows_learned)
    if train.updates is not None:  # the last epoch may be a part
        examples = progress.update * train.batch_size
    observed = Observed(
        constant=None if run.model.head.pretrains else _constant(evaluated.task, answers[first], rows[first]),
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
        "rows": {split: len(loaded) for split, loaded in rows.items()},
        "features": {split: len(encoded) for split, encoded in run.features.items()},
        "truncated": {split: truncated_share(encoded) for split, encoded in run.features.items()},
        "notes": _notes(run, origins, scores),
        "versions": process.versions(),
        "git_commit": process.git_commit(),
        "device": describe_device(run.device),
        "precision": run.precision,
        "processes": run.accelerator.num_processes,
        "examples_per_second": examples / progress.seconds,
        "peak_memory_bytes": peak_memory(run.device),
        "epochs": [asdict(done) for done in progress.epochs],
        "selected_epoch": progress.selected_epoch,
        "headline": task.metrics[0].name,
        "scores": scores,
        "baselines": {
            split: {method: evaluated.task.score(predicted, rows[split]) for method, predicted in methods.items()}
            for split, methods in baselines.items()
        },
        "new_weights": run.new_weights,
        "options": option_values(evaluated.task),
        "chosen": list(evaluated.chosen),
        "cross_fitted": hasattr(task, "decide") and bool(evaluated.chosen),
        "metrics": saved_metrics(task.metrics),
        "labels": {
            split: labels
            for split, loaded in rows.items()
            if not isinstance(loaded, HashedRows) and (labels := _frequent(task, [row.gold for row in loaded]))
        },
        "margins": {split: margin(evaluated.task, rows[split], answers[split], baselines[split]) for split in answers},
        "lineage": run.lineage,
        "findings": list(run.findings),
        "observed": observed,
        "parameters": parameter_counts(run.model),
        "seconds": {"total": time.perf_counter() - started, "training": progress.seconds},
    }
    record = RunRecord(**facts | run.facts)
    return record.model_copy(update={"notes": list(dict.fromkeys([*record.notes, *dev_choices(record)]))})


def _notes(run: RunState, origins: Mapping[str, str], scores: Scores) -> list[str]:
    notes, task = list[str](), run.task
    for split, loaded in run.splits.items():
        notes += [note.replace(loaded.origin, origins[split]) for note in loaded.notes]
        notes += run.notes if split == task.train_split else []
    for split, encoded in run.features.items():
        numbers, cut = truncated_rows(encoded)
        if share := len(np.unique(numbers[cut])) / len(np.unique(numbers)):
            lost = task.truncated.format(max_length=run.recipe.max_length)
            notes.append(f"{split}: {percent(share)} of the rows {lost}")
    notes += run.progress.notes
    for split, by_name in scores.items():
        notes += [
            f"{split}: {name} is {score}: it is undefined for these predictions"
            for name, score in by_name.items()
            if not math.isfinite(score)
        ]
    return notes


def _origin(loaded: Rows, source: Source) -> str:
    """The file of the rows, as a relative path."""
    path = Path(loaded.origin)
    if source.folder is not None and not loaded.content and path.is_relative_to(source.folder):
        return path.relative_to(source.folder).as_posix()
    try:
        return Path(os.path.relpath(path)).as_posix() if path.is_absolute() else loaded.origin
    except ValueError:  # on another drive
        return path.name


def _constant(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> str | None:
    """The prediction that is the same for all rows, though their labels differ; None if predictions differ too."""
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
    """The number of rows that share their text with a row of a different label, as `check` counts them.

    Numbers differ where they are more than the standard deviation of all labels apart.
    """
    kind = type_of(task)
    if kind is None or isinstance(rows, HashedRows) or not all(isinstance(row, OwnRow) for row in rows):
        return 0
    labels: dict[str, list[Any]] = defaultdict(list)
    for row, label in zip(rows, task.labels_of(rows), strict=True):
        if kind.closed_labels or not isinstance(label.value, str):  # of one text several answers may be written
            labels[same_text(row.input)].append(label.value)
    values = [value for group in labels.values() for value in group]
    numbers = len(values) == len(rows) and all(isinstance(value, float) for value in values)
    if apart := float(np.std(values)) if numbers else 0.0:
        return sum(len(group) for group in labels.values() if max(group) - min(group) > apart)
    return sum(len(group) for group in labels.values() if len(set(map(str, group))) > 1)


def _fitting_length(run: RunState) -> int:
    """A `max_length` that cuts few training rows, a multiple of STEP tokens; 0 where none was cut."""
    features = run.features[run.task.train_split]
    step = max(1, len(run.train_rows) // SAMPLE_ROWS)
    texts = [row.input for row in run.train_rows[::step] if isinstance(row, OwnRow)]
    if not texts or not len(features) or not truncated_rows(features)[1].any():
        return 0
    encoded = run.tokenizer(texts, return_attention_mask=False, truncation=False, verbose=False)["input_ids"]
    return math.ceil(float(np.quantile([len(ids) for ids in encoded], NEARLY_ALL)) / STEP) * STEP


def _frequent(task: Task, golds: Sequence[Any]) -> dict[str, int]:
    """The most frequent labels and their counts, also of predictions in the form of labels; empty without classes."""
    kind = type_of(task)
    counts = Counter[str]() if kind is None else counts_of_labels(kind, golds)
    if set(counts) == {"no label"}:
        return {}
    return {name[:LONGEST_LABEL]: count for name, count in counts.most_common(MOST_LABELS)}
