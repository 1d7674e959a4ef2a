"""Predictions and scores on the dev splits, of the model in training and of the baselines."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from finetune.data.rows import Row
from finetune.inference.engine import Engine
from finetune.metrics.metric import Metric, Scores
from finetune.models.feature import Feature
from finetune.models.kernels.cpu import release_memory, trim_memory
from finetune.runs.events import Working
from finetune.task_types.options import configured
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

Answers = dict[str, list[Answer]]  # split (or method) -> one prediction per row
FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """Predictions and scores of the dev splits; `task` has the options `chosen` on the first, `loss` is its mean loss
    of a label.
    """

    task: Task
    answers: Answers
    scores: Scores
    chosen: Mapping[str, Any]
    loss: float | None = None

    @property
    def metrics(self) -> Sequence[Metric]:
        """The metrics; the first, the headline metric, selects the best epoch."""
        return self.task.metrics

    @property
    def headline(self) -> float:
        """Score on the first split by the headline metric."""
        return next(iter(self.scores.values()))[self.metrics[0].name]


@dataclass(frozen=True, kw_only=True)
class DevEvaluation:
    """Predicts and scores the splits of `features`; `rows` may have more splits."""

    task: Task
    rows: Mapping[str, Sequence[Row]]
    features: Mapping[str, Sequence[Feature]]

    def __call__(self, engine: Engine) -> Evaluated:
        """Predicts and scores; options are chosen on the first split and applied to all."""
        task, chosen, found, loss = self.task, dict[str, Any](), Answers(), None
        for index, (split, features) in enumerate(self.features.items()):
            logits, rows = engine.logits(features), self.rows[split]
            engine.watch(Working(f"scoring {split}"))
            if index == 0:
                loss = engine.loss(logits, features)
            answers = task.decode(logits, features, rows)
            if index == 0 and (chosen := task.tune(answers, rows)):
                task = configured(self.task, chosen)
                decided = task.decode(logits, features, rows)
                answers = cross_fitted(self.task, answers, rows) if hasattr(task, "decide") else decided
            found[split] = answers
        scores = {split: task.score(answers, self.rows[split]) for split, answers in found.items()}
        return Evaluated(task=task, answers=found, scores=scores, chosen=chosen, loss=loss)

    def on(self, splits: Sequence[str]) -> "DevEvaluation":
        """The same on some of the splits."""
        return replace(self, features={split: self.features[split] for split in splits})

    def completed(self, engine: Engine, found: Evaluated) -> Evaluated:
        """With the splits that were not predicted yet, decided with the options that the first split chose."""
        answers, scores = dict(found.answers), dict(found.scores)
        for split, features in self.features.items():
            if split not in answers:
                engine.watch(Working(f"scoring {split}"))
                answers[split] = found.task.decode(engine.logits(features), features, self.rows[split])
                scores[split] = found.task.score(answers[split], self.rows[split])
        return replace(found, answers=answers, scores=scores)

    def baselines(self, train: Sequence[Row], found: Evaluated) -> dict[str, Answers]:
        """By split and method, predictions of the baselines, with options chosen as for the model."""
        release_memory()  # that the activations of training had
        given = {split: self.task.baselines(train, self.rows[split]) for split in self.features}
        trim_memory()
        if not found.chosen or not hasattr(self.task, "decide"):
            return given
        first, *others = given
        rows = self.rows[first]
        tuned: dict[str, Any] = {
            method: chosen_by(self.task, answers, rows) for method, answers in given[first].items()
        }
        fitted = {method: cross_fitted(self.task, answers, rows) for method, answers in given[first].items()}
        return {first: fitted} | {
            split: {method: tuned[method].decide(answers) for method, answers in given[split].items()}
            for split in others
        }


def official_scores(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, float]:
    """The scores of `task.score`, as an `evaluate.Metric` computes them.

    Predictions pass through the library as indices: its columns cast values to one type and drop probabilities.
    `evaluate.load("glue", "mrpc")` downloads a script from the Hub; this needs no network. The import takes seconds.
    """
    import datasets
    import evaluate

    class TaskMetric(evaluate.Metric):  # type: ignore[misc]
        def _info(self) -> Any:
            columns = datasets.Features(dict.fromkeys(("predictions", "references"), datasets.Value("int64")))
            return evaluate.MetricInfo(description=f"Scores of the task {task.name}", citation="", features=columns)

        def _compute(self, predictions: Sequence[int], references: Sequence[int]) -> dict[str, float]:
            return task.score([answers[i] for i in predictions], [rows[i] for i in references])

    indices = range(len(rows))
    found = TaskMetric(config_name=task.name, keep_in_memory=True).compute(predictions=indices, references=indices)
    return {name: float(found[name]) for name in task.metric_names}


def cross_fitted(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> list[Answer]:
    """Predictions of each fold with the options chosen on the other folds."""
    found = list(answers)
    for fold in folds(rows):
        others = sorted(set(range(len(rows))) - set(fold))
        chosen: Any = chosen_by(task, [answers[i] for i in others], [rows[i] for i in others])
        for index, answer in zip(fold, chosen.decide([answers[i] for i in fold]), strict=True):
            found[index] = answer
    return found


def chosen_by(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> Task:
    """The task with the options that score best on these predictions."""
    return configured(task, task.tune(answers, rows))


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
