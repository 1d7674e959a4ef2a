"""Builds the record of a run of several tasks from those of each task."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from accelerate import Accelerator

from finetune.metrics.scores import Scores
from finetune.models.device import describe_device, peak_memory
from finetune.models.freezing import parameter_counts
from finetune.runs import environment
from finetune.runs.record import RunRecord, saved_metrics
from finetune.training.checkpoints import Progress
from finetune.training.together.dev import MEAN, SPLIT, mean_and_each
from finetune.training.together.plan import BuiltTogether, PlannedTogether

BEST = "best-baseline-of-each"


def record_together(
    planned: PlannedTogether,
    built: BuiltTogether,
    records: Sequence[RunRecord],
    progress: Progress,
    accelerator: Accelerator,
    *,
    started: float,
) -> RunRecord:
    """The record of the run; `records` are those of its tasks, `started` seconds.

    Its scores are the mean of the headline scores on the first dev split of each task, and these.
    """
    first, seconds = records[0], time.perf_counter() - started
    metrics = [
        MEAN,
        *(replace(one.task.metrics[0], name=f"{one.task.name} {one.task.metrics[0].name}") for one in planned.members),
    ]
    return RunRecord(
        id=planned.id,
        task=planned.name,
        task_version=1,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        recipe=planned.recipe.model_dump(exclude={"grid"}),
        model=first.model,
        weights=first.weights,
        data=planned.id,
        data_origin=_of_each(records, "data_origin"),
        data_files=_of_each(records, "data_files"),
        rows={"train": sum(map(len, (one.train_rows for one in planned.members))), SPLIT: _dev_rows(records)},
        features={"train": len(built.features)},
        truncated=_of_each(records, "truncated"),
        notes=_notes(records),
        versions=environment.versions(),
        git_commit=environment.git_commit(),
        device=describe_device(accelerator.device),
        precision=planned.precision,
        processes=accelerator.num_processes,
        seconds={"total": seconds, "training": progress.seconds},
        examples_per_second=progress.update * planned.recipe.train.batch_size / progress.seconds,
        peak_memory_bytes=peak_memory(accelerator.device),
        epochs=[_shown(asdict(done)) for done in progress.epochs],
        selected_epoch=progress.selected_epoch,
        headline=MEAN.name,
        scores={SPLIT: mean_and_each([one.score for one in records], metrics)},
        baselines=_baselines(records, [metric.name for metric in metrics]),
        new_weights=first.new_weights,
        metrics=saved_metrics(metrics),
        parameters=parameter_counts(built.model),
        cost=first.cost,
        lineage=first.lineage,
    )


def _of_each(records: Sequence[RunRecord], field: str) -> dict[str, Any]:
    """A fact by split of each task, as `mrpc dev`."""
    return {f"{one.task} {split}": fact for one in records for split, fact in getattr(one, field).items()}


def _dev_rows(records: Sequence[RunRecord]) -> int:
    return sum(one.rows[one.first_split] for one in records)


def _notes(records: Sequence[RunRecord]) -> list[str]:
    """The notes of the tasks; those that all have once, the others with their task."""
    every = [set(one.notes) for one in records]
    shared = set.intersection(*every)
    return [
        *(note for note in records[0].notes if note in shared),
        *(f"{one.task}: {note}" for one in records for note in one.notes if note not in shared),
    ]


def _shown(epoch: dict[str, object]) -> dict[str, object]:
    """An epoch with the mean and headlines alone: each task's own record has its other scores."""
    scores: Mapping[str, Mapping[str, float]] = epoch["scores"]  # type: ignore[assignment]
    return epoch | {"scores": {SPLIT: {name: one for name, one in scores[SPLIT].items() if "/" not in name}}}


def _baselines(records: Sequence[RunRecord], names: Sequence[str]) -> dict[str, Scores]:
    """The mean of each task's best baseline on its first dev split; none where one has none."""
    best = [one.best_baseline(one.first_split, one.headline) for one in records]
    given = [score for score in best if score is not None]
    if len(given) < len(best):
        return {SPLIT: {}}
    return {SPLIT: {BEST: dict(zip(names, [sum(given) / len(given), *given], strict=True))}}
