"""Builds the record of a finished run, with what it saw of its rows and of its own predictions."""

import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from torch import nn

from finetune.data.characters import same_text
from finetune.data.messages import percent, so_many
from finetune.data.paths import from_here
from finetune.data.rows import HashedRows, OwnRow, Row, Rows
from finetune.data.source import Source
from finetune.metrics.scores import Scores
from finetune.models.device import describe_device, peak_memory
from finetune.models.families import most_tokens
from finetune.models.feature import Feature, truncated_rows
from finetune.models.freezing import parameter_counts
from finetune.models.head import Head
from finetune.runs import environment
from finetune.runs.dev_choices import dev_choices
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import CONTRASTIVE
from finetune.runs.record import RunRecord, saved_metrics
from finetune.runs.record_parts import MOST_COMPARED, MOST_WORDS, OLD_DEV, ComparedModel, Cost, KeptHead, Observed
from finetune.runs.whole_record import LONGEST_LABEL, MOST_LABELS
from finetune.task_types.options import option_values
from finetune.task_types.parts import Answer
from finetune.task_types.prepare import truncated_share
from finetune.task_types.resampling import margin
from finetune.task_types.task import Task
from finetune.task_types.types import type_of
from finetune.training.checkpoints import Progress
from finetune.training.evaluation import Answers, DevEvaluation, Evaluated
from finetune.training.prepared_run import BuiltRun, PlannedRun

FEW_TO_SCORE = 50  # rows, of which a score of 80 % has an interval of 24 points
NEARLY_ALL = 0.95  # share of the training rows that the advised length does not cut
SAMPLE_ROWS = 2_000  # whose tokens are counted
STEP = 64  # the advised length is a multiple of it
LEAST_SPREAD = 0.01  # of predicted numbers, as a share of that of the labels: less is one number


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """What training gave: its progress, the predictions that are saved, those of the linear probe, what it cost, of a
    student the rows of its comparison, and the splits that were learned after they were scored.
    """

    progress: Progress
    evaluation: DevEvaluation
    found: Evaluated
    probe: Answers
    cost: Cost
    compared: Sequence[ComparedModel] = ()
    learned: Sequence[str] = ()


def build_record(
    planned: PlannedRun,
    built: BuiltRun,
    trained: TrainingResult,
    baselines: Mapping[str, Answers],
    accelerator: Accelerator,
    *,
    started: float,
) -> RunRecord:
    """The record of a finished run; `baselines` are their predictions by split and method, `started` seconds."""
    task, splits = planned.task, planned.splits
    progress, dev, found = trained.progress, trained.evaluation, trained.found
    origins = {split: _origin(loaded, planned.source) for split, loaded in splits.items()}
    scores = dev.official_scores(found)
    record = RunRecord(
        id=planned.id,
        task=task.name,
        task_version=task.version,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        recipe=planned.recipe.model_dump(exclude={"grid"}),
        model=planned.weights.name,
        weights=planned.weights.fingerprint,
        data=planned.data,
        data_origin=origins,
        data_files={split: loaded.content for split, loaded in splits.items() if loaded.content},
        rows={split: len(rows) for split, rows in planned.rows.items()},
        features={split: len(encoded) for split, encoded in built.features.items()},
        truncated={split: truncated_share(encoded) for split, encoded in built.features.items()},
        notes=_notes(planned, built, trained, origins, accelerator) + _undefined(scores),
        versions=environment.versions(),
        git_commit=environment.git_commit(),
        device=describe_device(accelerator.device),
        precision=planned.precision,
        processes=accelerator.num_processes,
        examples_per_second=_trained_examples(planned, built, progress) / progress.seconds,
        peak_memory_bytes=peak_memory(accelerator.device),
        epochs=[asdict(done) for done in progress.epochs],
        selected_epoch=progress.selected_epoch,
        headline=task.metrics[0].name,
        scores=scores,
        baselines=dev.score_all(baselines, found),
        new_weights=built.new_weights,
        options=option_values(found.task),
        chosen=list(found.chosen),
        cross_fitted=task.cross_fits and bool(found.chosen),
        metrics=saved_metrics(task.metrics),
        labels={split: counts for split, rows in planned.rows.items() if (counts := _label_counts(task, rows))},
        margins=dev.margins(baselines, found),
        cost=trained.cost,
        lineage=planned.lineage,
        kept=_kept(planned, found),
        compared=list(trained.compared),
        learned=list(trained.learned),
        findings=list(planned.findings),
        observed=_observed(planned, built, found),
        parameters=parameter_counts(built.model),
        seconds={"total": time.perf_counter() - started, "training": progress.seconds},
    )
    return record.model_copy(update={"notes": list(dict.fromkeys([*record.notes, *dev_choices(record)]))})


def _kept(planned: PlannedRun, found: Evaluated) -> KeptHead | None:
    """What was kept of another run, with the lead over its model on its dev."""
    kept, task = planned.kept, found.task
    if kept is None or not kept.answers:
        return None if kept is None else kept.facts
    plain = [one for one in task.metrics if "/" not in one.name and not one.name.startswith("macro")]
    task = replace(task, metrics=(*plain, *(one for one in task.metrics if one not in plain)))
    lead = margin(task, planned.rows[OLD_DEV], found.answers[OLD_DEV], kept.baselines[OLD_DEV])
    return kept.facts.model_copy(update={"metric": task.metrics[0].name, "margin": lead})


def _trained_examples(planned: PlannedRun, built: BuiltRun, progress: Progress) -> int:
    """The rows of all epochs, or where a run's length is in updates the features of all batches."""
    train = planned.recipe.train.lengthened(len(built.features[planned.task.train_split]))
    in_epochs = train.updates is None and train.solver != CONTRASTIVE
    return len(progress.epochs) * len(planned.rows_learned) if in_epochs else progress.update * train.batch_size


def _notes(
    planned: PlannedRun, built: BuiltRun, trained: TrainingResult, origins: Mapping[str, str], accelerator: Accelerator
) -> list[str]:
    """Notes on the rows, how they fit the encoder, training and predictions."""
    notes = []
    for split, loaded in planned.splits.items():
        notes += [note.replace(loaded.origin, origins[split]) for note in loaded.notes]
        notes += built.notes if split == planned.task.train_split else []
    return [
        *notes,
        *(planned.lessons.notes if planned.lessons else ()),
        *_few_to_score(planned, built.model.head),
        *_truncated(built.features, planned.task.truncation_note(planned.recipe.max_length)),
        *_masks(accelerator.num_processes, built.model, planned.recipe),
        *trained.progress.notes,
        *trained.evaluation.notes(trained.found),
    ]


def _few_to_score(planned: PlannedRun, head: Head) -> list[str]:
    """A note for a first dev split with so few rows that chance decides its score."""
    first = planned.task.dev_splits[0]
    rows = len(planned.rows[first])
    if rows >= FEW_TO_SCORE or head.pretrains:  # documents have many words
        return []
    return [f"{first} has {so_many(rows)}: too few to tell a good model from a bad one by; see the score's interval"]


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
        notes += [f"{split}: {percent(share)} of the rows {lost}"] if share else []
    return notes


def _masks(processes: int, model: nn.Module, recipe: Recipe) -> list[str]:
    """A note that results depend on the number of processes; none for one process or without dropout."""
    dropout = any(module.p for module in model.modules() if isinstance(module, nn.Dropout))
    if processes == 1 or not dropout or recipe.train.solver == "logistic":
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


def _observed(planned: PlannedRun, built: BuiltRun, found: Evaluated) -> Observed:
    """The facts of a run that its record has nowhere else."""
    split, answers = next(iter(found.answers.items()))
    dev, train = planned.rows[split], planned.train_rows
    return Observed(
        constant=None if built.model.head.pretrains else _constant(found.task, answers, dev),
        contradicted=_contradicted(planned.task, train[:MOST_COMPARED]),
        fitting_length=_fitting_length(planned, built),
        longest_length=most_tokens(built.model.backbone.encoder),
        typed=list(planned.typed) if len(planned.typed) <= MOST_WORDS else [],
        data_folder=from_here(str(planned.source.folder)) if planned.source.explicit else "",
    )


def _constant(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> str | None:
    """The one prediction that all rows have, where their labels differ: a label, a number or a text."""
    values, labels = ([one.value for one in side] for side in (answers, task.labels_of(rows)))
    if len(set(map(str, labels))) < 2:
        return None
    if all(isinstance(value, float) for value in (*values, *labels)):
        spread, of_labels = float(np.std(values)), float(np.std(labels))
        return f"{np.mean(values):.3g}" if spread < LEAST_SPREAD * of_labels else None
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
    numbers = [value for some in labels.values() for value in some if isinstance(value, float)]
    apart = float(np.std(numbers)) if len(numbers) == len(rows) else 0.0
    if apart:
        return sum(len(some) for some in labels.values() if max(some) - min(some) > apart)
    return sum(len(some) for some in labels.values() if len(set(map(str, some))) > 1)


def _fitting_length(planned: PlannedRun, built: BuiltRun) -> int:
    """The tokens that nearly all training rows have, rounded up; 0 where none was cut."""
    features = built.features[planned.task.train_split]
    if not len(features) or not truncated_rows(features)[1].any():
        return 0
    rows = planned.train_rows[:: max(1, len(planned.train_rows) // SAMPLE_ROWS)]
    texts = [row.input for row in rows if isinstance(row, OwnRow)]
    if not texts:
        return 0
    found = built.tokenizer(texts, return_attention_mask=False, truncation=False, verbose=False)["input_ids"]
    return math.ceil(float(np.quantile([len(ids) for ids in found], NEARLY_ALL)) / STEP) * STEP


def _label_counts(task: Task, rows: Sequence[Row]) -> dict[str, int]:
    """The most frequent labels and their counts; empty for tasks without classes, as a text is."""
    return {} if isinstance(rows, HashedRows) else _frequent(task, [row.gold for row in rows])


def _frequent(task: Task, golds: Sequence[Any]) -> dict[str, int]:
    """The most frequent of labels, or of predictions, which have the form of a label."""
    kind = type_of(task)
    counts = Counter[str]() if kind is None else kind.tally(golds)
    if set(counts) == {"no label"}:
        return {}
    return {name[:LONGEST_LABEL]: count for name, count in counts.most_common(MOST_LABELS)}
