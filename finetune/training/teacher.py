"""`distil`: a student learns the probabilities of teachers next to the labels of its rows (Hinton et al. 2015).

Teachers are finished runs of the same task type with the same labels. Their logits, `(rows, classes)`, are computed
once, without dropout; also for the rows of a file without labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax, logsumexp, softmax
from torch import Tensor

from finetune.data.messages import so_many
from finetune.data.reading import first_rows, table_of
from finetune.data.rows import Row, data_fingerprint
from finetune.errors import UserError
from finetune.inference.predict_plan import SAMPLE_ROWS, known_type, layout_for
from finetune.inference.predictor import load_predictor, saved
from finetune.models.batch import Batch
from finetune.models.caller_state import default_torch_modes
from finetune.models.feature import IGNORED, LABEL, TAUGHT, Feature, LazyFeatures, lengths, truncated_rows
from finetune.models.head import Head
from finetune.runs.events import Working
from finetune.runs.folder import RunFolder
from finetune.runs.recipe import Distil
from finetune.storage.cache import hash_of
from finetune.task_types import registry
from finetune.task_types.columns import own_data
from finetune.task_types.own_data import usable_rows
from finetune.task_types.parts import taught_classes
from finetune.task_types.prepare import array_features
from finetune.task_types.shared_rows import known_keys
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import type_of
from finetune.training.extras import Extra, RunState


def rows_without_labels(task: Task, path: Path) -> list[Row]:
    """The rows of a file with a task's columns, without their labels.

    Raises UserError for a file that cannot be read, for missing columns, and where no row can be used.
    """
    data = own_data(task)
    trained = None if data is None else data.layout
    form = form_for(path, trained, {}, inputs=task.inputs)
    sample = first_rows(path, form, most=SAMPLE_ROWS)
    try:
        layout, _ = layout_for(known_type(task), trained, sample, {}, inputs=task.inputs)
    except UserError as error:
        wanted = ", ".join(trained.text if trained else task.inputs)
        raise UserError(f"distil.text={error.what}", f"Name its columns of texts as in training: {wanted}") from error
    rows, _, _ = usable_rows(replace(layout, label=()), table_of(path, "", form), unlabelled=True)
    if not rows:
        raise UserError(f"distil.text={path}: has no row that can be used", "Run `finetune check` on it to see why")
    return [replace(row, gold=None) for row in rows]


class Teacher(Extra):
    """`distil`: teachers (`folders` of runs) answer the training rows and the rows of `text`, which have no label."""

    folders: Sequence[Path] = ()
    task: Task | None = None  # the student's, if it is in a file: the teacher's own folder does not name that
    text: Sequence[Row] = ()

    def after_reading(self, run: RunState) -> None:
        """Hashes the teachers and the text, for the run's id.

        Raises UserError for a text that cannot be read, and for labels of `keep_labels` that a teacher lacks.
        """
        distil, hashes = run.recipe.distil, list[str]()
        self.folders = [Path(folder) for folder in distil.teachers]
        self.task = run.resolved.default if registry.in_file(run.resolved.recipe.task) else None
        for folder in self.folders:
            teacher = saved(folder)
            if lost := [label for label in taught_classes(run.task) if label not in self._classes(folder)]:
                raise UserError(
                    f"distil.teacher={folder.name}: it lacks the label {lost[0]}, which keep_labels keeps",
                    "Set keep_labels=shared, or name a teacher with all of them",
                )
            run.earlier_rows = {**run.earlier_rows, **known_keys(RunFolder(folder))}
            hashes.append(hash_of([teacher.files.fingerprint, sorted(map(str, teacher.settings.items()))]))
        run.teaching = {"teachers": hash_of(sorted(hashes))}
        if distil.text:
            self._read_text(run, Path(distil.text))

    def _classes(self, folder: Path) -> tuple[str, ...]:
        return taught_classes(self.task or saved(folder).task())

    def _read_text(self, run: RunState, path: Path) -> None:
        """Reads the rows of `distil.text`, without those of the dev splits."""
        rows, kind = rows_without_labels(run.task, path), type_of(run.task)
        if kind is not None:
            scored = {kind.unit(row) for split in run.task.dev_splits for row in run.rows[split]}
            self.text = [row for row in rows if kind.unit(row) not in scored]
        if not self.text:
            remedy = "Name rows that the student is not scored on"
            raise UserError(f"distil.text={path}: all its rows are dev rows", remedy)
        if len(self.text) < len(rows):
            left_out = so_many(len(rows) - len(self.text))
            run.notes.append(f"{path}: {left_out} left out, which the student is scored on")
        run.notes.append(f"{path}: {so_many(len(self.text))} without labels, which the teacher answers")
        run.teaching = {**run.teaching, "text": data_fingerprint({"": self.text})}
        run.rows_learned = [*run.rows_learned, *self.text]

    def before_training(self, run: RunState) -> None:
        """Computes the teachers' answers, and makes them targets of training."""
        task, distil = run.task, run.recipe.distil
        features: Sequence[Feature] = run.features[task.train_split]
        arguments = (run.tokenizer, run.recipe.max_length, run.watch)
        text = array_features(task, self.text, *arguments) if self.text else features[:0]
        logits = mean_of_teachers([self._answers(folder, run) for folder in self.folders])
        targets = softmax(logits / distil.temperature, axis=-1).astype(np.float32)
        run.inputs[task.train_split] = DistillationFeatures(features, text, targets, rows=len(run.train_rows))
        run.objective = DistillationLosses(head=run.model.head, settings=distil)

    def _answers(self, folder: Path, run: RunState) -> np.ndarray:
        """A teacher's logits `(rows, classes)`, in the order of the student's classes."""
        rows = [*run.train_rows, *self.text]
        run.watch(Working(f"{folder.name} answers {so_many(len(rows))}"))
        predictor = load_predictor(folder, task=self.task, device=str(run.device))
        with default_torch_modes():
            features = predictor.encoded(rows)
            logits = logits_of_rows(features, predictor.engine.logits(features), rows=len(rows))
        classes = self._classes(folder)
        return logits.take([classes.index(label) for label in taught_classes(run.task)], axis=1)


def logits_of_rows(features: Sequence[Feature], logits: Sequence[np.ndarray], *, rows: int) -> np.ndarray:
    """The logits `(rows, classes)`; of a long text the mean over its windows."""
    by_row: list[list[np.ndarray]] = [[] for _ in range(rows)]
    for feature, window in zip(features, logits, strict=True):
        by_row[feature.row].append(window)
    return np.stack([np.mean(windows, axis=0) for windows in by_row])


def mean_of_teachers(logits: Sequence[np.ndarray]) -> np.ndarray:
    """The logits of the teachers' mean probabilities; of a single teacher its own, to the bit."""
    if len(logits) == 1:
        return logits[0]
    mean: np.ndarray = logsumexp(log_softmax(np.stack(logits), axis=-1), axis=0) - np.log(len(logits))
    return mean


class DistillationFeatures(LazyFeatures):
    """The features of `rows` training rows and then of `text`, with a target `taught` `(1, classes)` next to the label.

    `targets` are probabilities `(rows, classes)`; labels of the text are IGNORED.
    """

    def __init__(self, features: Sequence[Feature], text: Sequence[Feature], targets: np.ndarray, *, rows: int) -> None:
        self.features, self.text, self.targets, self.first_row = features, text, targets, rows
        (numbers, cut), (text_numbers, text_cut) = truncated_rows(features), truncated_rows(text)
        self.rows = np.concatenate([numbers, text_numbers + rows]).astype(int)
        self.truncated = np.concatenate([cut, text_cut]).astype(bool)
        self.lengths = np.concatenate([lengths(features), lengths(text)])

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        target = self.targets[self.rows[index]][None]
        if index < len(self.features):
            feature = self.features[index]
            return replace(feature, label={LABEL: feature.label, TAUGHT: target})
        feature = self.text[index - len(self.features)]
        return replace(feature, label={LABEL: IGNORED, TAUGHT: target}, row=self.first_row + feature.row)


@dataclass(frozen=True, kw_only=True)
class DistillationLosses:
    """The objective of a student: each loss is a sum over its own labels; the trainer divides by their number."""

    head: Head
    settings: Distil

    def __call__(self, logits: Any, batch: Batch) -> dict[str, Tensor]:
        """The losses of labels and of the teachers' answers by name, each with its weight."""
        weight, labels, targets = self.settings.weight, batch.labels[LABEL], batch.labels[TAUGHT][:, 0]
        losses = {TAUGHT: weight * soft_loss(logits, targets, self.settings.temperature)}
        labelled = labels != IGNORED
        if weight < 1 and bool(labelled.any()):
            losses[LABEL] = (1 - weight) * self.head.loss(logits[labelled], labels[labelled])
        return losses


def soft_loss(logits: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """The Kullback-Leibler divergence of targets `(batch, classes)` and the softened logits, summed.

    The factor of the temperature squared keeps gradients as large as without it (Hinton et al. 2015, section 2.1).
    """
    predicted = (logits.float() / temperature).log_softmax(-1)
    divergence: Tensor = torch.special.xlogy(targets, targets) - targets * predicted
    return temperature**2 * divergence.sum()
