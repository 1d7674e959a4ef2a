"""Builds the record of a finished run."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from accelerate import Accelerator

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.metrics.scores import Scores
from finetune.models.device import describe_device, peak_memory
from finetune.models.feature import Feature
from finetune.models.feature_arrays import truncated_rows
from finetune.models.pretrained import Weights
from finetune.runs import environment
from finetune.runs.dev_choices import all_notes
from finetune.runs.margin import Margin
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord, saved_metrics
from finetune.task_types.label_counts import label_counts
from finetune.task_types.options import option_values
from finetune.task_types.prepare import truncated_share
from finetune.task_types.task import Task
from finetune.training.checkpoints import Progress
from finetune.training.evaluation import Evaluated, Evaluation


def build_record(
    recipe: Recipe,
    task: Task,
    *,
    run: str,
    data: str,
    files: Weights,
    source: Source,
    splits: Mapping[str, Rows],
    features: Mapping[str, Sequence[Feature]],
    new_weights: list[str],
    accelerator: Accelerator,
    precision: str,
    progress: Progress,
    evaluation: Evaluation,
    found: Evaluated,
    scores: Scores,
    baselines: dict[str, Scores],
    margins: dict[str, Margin],
    seconds: float,
) -> RunRecord:
    """The record of a finished run."""
    origins = {split: _origin(loaded, source) for split, loaded in splits.items()}
    read = [note.replace(loaded.origin, origins[split]) for split, loaded in splits.items() for note in loaded.notes]
    trained = len(splits[task.train_split].rows) * len(progress.epochs)
    record = RunRecord(
        id=run,
        task=task.name,
        task_version=task.version,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        recipe=recipe.model_dump(exclude={"grid"}),
        model=files.name,
        weights=files.fingerprint,
        data=data,
        data_origin=origins,
        data_files={split: loaded.content for split, loaded in splits.items() if loaded.content},
        rows={split: len(loaded.rows) for split, loaded in splits.items()},
        features={split: len(encoded) for split, encoded in features.items()},
        truncated={split: truncated_share(encoded) for split, encoded in features.items()},
        notes=[
            *read,
            *_truncated(features, task.lost(recipe.max_length)),
            *_masks(accelerator.num_processes, recipe),
            *progress.notes,
            *evaluation.remarks(found),
            *_undefined(scores),
        ],
        versions=environment.versions(),
        git_commit=environment.git_commit(),
        device=describe_device(accelerator.device),
        precision=precision,
        processes=accelerator.num_processes,
        seconds={"total": seconds, "training": progress.seconds},
        examples_per_second=trained / progress.seconds,
        peak_memory_bytes=peak_memory(accelerator.device),
        epochs=[asdict(done) for done in progress.epochs],
        selected_epoch=progress.selected_epoch,
        headline=task.metrics[0].name,
        scores=scores,
        baselines=baselines,
        new_weights=new_weights,
        options=option_values(found.task),
        chosen=list(found.chosen),
        cross_fitted=task.cross_fits and bool(found.chosen),
        metrics=saved_metrics(task.metrics),
        labels={split: counts for split, loaded in splits.items() if (counts := label_counts(task, loaded.rows))},
        margins=margins,
    )
    return record.model_copy(update={"notes": all_notes(record)})


def _origin(loaded: Rows, source: Source) -> str:
    """Where rows were read from, as a relative path."""
    path = Path(loaded.origin)
    if source.folder is not None and not loaded.content and path.is_relative_to(source.folder):
        return path.relative_to(source.folder).as_posix()
    if not path.is_absolute():
        return loaded.origin
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # on another drive
        return path.name


def _truncated(features: Mapping[str, Sequence[Feature]], lost: str) -> list[str]:
    """A note per split with truncated rows; `lost` says what they lost."""
    notes = []
    for split, encoded in features.items():
        rows, cut = truncated_rows(encoded)
        share = len(np.unique(rows[cut])) / len(np.unique(rows))
        notes += [f"{split}: {100 * share:.2g} % of the rows {lost}"] if share else []
    return notes


def _masks(processes: int, recipe: Recipe) -> list[str]:
    """A note that results depend on the number of processes; none for one process or without dropout."""
    if processes == 1 or recipe.train.dropout == 0 or recipe.train.solver == "logistic":
        return []
    return [f"trained by {processes} processes with separate dropout masks: scores differ from a single process"]


def _undefined(scores: Scores) -> list[str]:
    """A note per score that is nan or infinite."""
    return [
        f"{split}: {name} is {score}: it is undefined for these predictions"
        for split, found in scores.items()
        for name, score in found.items()
        if not math.isfinite(score)
    ]
