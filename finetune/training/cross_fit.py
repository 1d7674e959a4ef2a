"""Cross-fitting: options chosen on dev (such as a threshold) are scored on dev rows that they were not chosen on."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict

from finetune.data.rows import Row
from finetune.task_types.options import configured
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

FOLDS = 5


def cross_fitted(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> list[Answer]:
    """Predictions of each fold with the options chosen on the other folds."""
    found = list(answers)
    for fold in folds(rows):
        others = sorted(set(range(len(rows))) - set(fold))
        chosen = chosen_by(task, [answers[i] for i in others], [rows[i] for i in others])
        for index, answer in zip(fold, chosen.scoring.apply_options([answers[i] for i in fold]), strict=True):
            found[index] = answer
    return found


def chosen_by(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> Task:
    """The task with the options that score best on these predictions."""
    return configured(task, task.scoring.calibrate(answers, rows))


def folds(rows: Sequence[Row]) -> list[list[int]]:
    """Row indices of each fold, independent of the order of the rows; rows of equal content share a fold."""
    contents = [_content(row) for row in rows]
    fold_of = {content: index % FOLDS for index, content in enumerate(sorted(set(contents)))}
    found: list[list[int]] = [[] for _ in range(FOLDS)]
    for index, content in enumerate(contents):
        found[fold_of[content]].append(index)
    return [fold for fold in found if fold]


def _content(row: Row) -> str:
    """A hash of a row's inputs."""
    read = {name: value for name, value in asdict(row).items() if name not in ("id", "gold")}
    return hashlib.sha256(json.dumps(read, sort_keys=True, default=str).encode()).hexdigest()
