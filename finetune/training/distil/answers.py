"""The answers of teachers, and soft labels.

Soft labels are columns `p(LABEL)`, as `finetune predict` writes them, or a confidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, logit, logsumexp, softmax

from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.data.table import Table
from finetune.data.values import as_number
from finetune.errors import UserError
from finetune.inference.predictor import Predictor, load_predictor, saved
from finetune.models.caller_state import plain_mode
from finetune.models.feature import IGNORED
from finetune.runs.events import Watcher, Working
from finetune.storage.cache import hash_of
from finetune.task_types.own_data import OwnData, own_data, usable_rows, with_distinct_ids
from finetune.task_types.parts import Teaching
from finetune.task_types.task import Task

CLOSE = 0.02  # by which probabilities may miss a sum of 1: files have them rounded
LEAST_CHANCE = 1e-6  # a probability of 0 has no logit
RowAnswers = Sequence[np.ndarray]  # for each row its logits by item, `(items, n)`


@dataclass(frozen=True)
class Teacher:
    """A trained run; `task` is the student's where that is in a file, which a run's own files do not name."""

    folder: Path
    task: Task | None = None
    device: str | None = None

    @cached_property
    def fingerprint(self) -> str:
        """A hash of its weights and of how they are read."""
        found = saved(self.folder)
        return hash_of([found.files.fingerprint, sorted(map(str, found.settings.items()))])

    @cached_property
    def predictor(self) -> Predictor:
        """The model."""
        return load_predictor(self.folder, task=self.task, device=self.device)

    def answers(self, rows: Sequence[Row], teaching: Teaching[Any], watch: Watcher) -> RowAnswers:
        """Its logits for rows, without dropout, in the order of the labels of a student's `teaching`."""
        watch(Working(f"{self.folder.name} answers {so_many(len(rows))}"))
        with plain_mode():
            features = self.predictor.encoded(rows)
            logits = self.predictor.engine.logits(features)
        found = self.predictor.task.teaching.by_row(logits, features, rows)
        if self.labels == teaching.labels:
            return found
        order = [self.labels.index(label) for label in teaching.labels]
        return [each[order] if teaching.learns == "flags" else each[:, order] for each in found]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of its answers."""
        return (saved(self.folder).task() if self.task is None else self.task).teaching.labels


def joint_answers(every: Sequence[RowAnswers], teaching: Teaching[Any]) -> RowAnswers:
    """The answers of several teachers as those of one: logits of the mean of their probabilities.

    Of starts and ends, whose probabilities are those of a window alone, the mean of the logits.
    """
    if len(every) == 1:
        return every[0]
    logits = [np.stack(some) for some in zip(*every, strict=True)]
    if teaching.learns == "class" and not teaching.same_tokens:
        return [logsumexp(log_softmax(each, axis=-1), axis=0) - np.log(len(each)) for each in logits]
    if teaching.learns == "flags":
        return [logit(expit(each.astype(np.float64)).mean(0)) for each in logits]
    return [each.mean(0) for each in logits]


def softened(logits: np.ndarray, learns: str, temperature: float) -> np.ndarray:
    """What a student learns of the logits of one feature `(items, n)`: probabilities, or numbers; IGNORED where there
    are none.
    """
    if learns == "class":
        target = softmax(logits / temperature, axis=-1)
    else:
        target = expit(logits / temperature) if learns == "flags" else logits
    return np.where(np.isnan(logits).any(-1, keepdims=True), IGNORED, target).astype(np.float32)


def soft_labels(task: Task, rows: Sequence[Row], *, confidence: str) -> RowAnswers:
    """The logits of each training row's soft label, `(items, n)`.

    Raises UserError for data without such columns, and for probabilities that are none or do not sum to one.
    """
    own, labels, learns = own_data(task), task.teaching.labels, task.teaching.learns
    if own is None or not labels or not task.teaching.in_columns:
        raise UserError(
            f"distil.soft: {task.name} is not a file with a label a row and its probabilities",
            "Name the column that has the label of each row: label=COLUMN",
        )
    table = own.table(own.files[task.train_split])
    columns = {label: f"p({label})" for label in labels}
    if not confidence and (missing := [name for name in columns.values() if name not in table.columns]):
        raise UserError(
            f"{table.path}: distil.soft=true, and there is no column {missing[0]}",
            "Add the columns p(LABEL), one a label; or name one with the probability of each row's label: "
            "distil.confidence=COLUMN",
        )
    if confidence and (confidence not in table.columns or learns == "flags"):
        what = "several labels a row have" if learns == "flags" else f"{table.path} has"
        raise UserError(f"distil.confidence={confidence}: {what} no such column", f"It has {', '.join(table.columns)}")
    places = _places(own, table)
    found = []
    for row in rows:
        index = places[row.id]
        cells = {name: _number(table, name, index) for name in ([confidence] if confidence else columns.values())}
        if confidence:  # the rest in equal parts for the other labels
            rest = (1 - cells[confidence]) / max(1, len(labels) - 1)
            chances = np.array([cells[confidence] if label == row.gold else rest for label in labels])
        else:
            chances = np.array([*cells.values()])
        if learns == "class" and not confidence and abs(chances.sum() - 1) > CLOSE:
            raise UserError(
                f"{table.path}: row {table.rows[index]}: the soft label has {chances.sum():.3g} as the sum of "
                f"{', '.join(columns.values())}",
                "Probabilities of one row sum to 1: fix that row",
            )
        kept = np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE)
        found.append(np.log(kept / (1 - kept))[:, None] if learns == "flags" else np.log(kept)[None])
    return found


def _places(own: OwnData, table: Table) -> dict[str, int]:
    """The index in the table of each row, by its id."""
    rows, indexes, _ = usable_rows(own.layout, table)
    rows = with_distinct_ids(rows) if own.layout.id else rows
    return {row.id: index for row, index in zip(rows, indexes, strict=True)}


def _number(table: Table, name: str, index: int) -> float:
    """A probability. Raises UserError for another value."""
    cell = table.columns[name][index]
    number = as_number(cell)
    if number is None or not 0 <= number <= 1:
        raise UserError(
            f"{table.path}: row {table.rows[index]}: {name} is '{cell}', not a probability", "Give a number from 0 to 1"
        )
    return number
