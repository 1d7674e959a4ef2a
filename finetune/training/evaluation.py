"""Predictions and scores on the dev splits, of the model in training and of the baselines."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from finetune.data.rows import Row
from finetune.inference.engine import Engine
from finetune.metrics.metric import Metric, Scores
from finetune.models.feature import Feature
from finetune.models.kernels.cpu import trim_memory
from finetune.runs.events import Working
from finetune.task_types.options import configured
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

Answers = dict[str, list[Answer]]  # split (or method) -> one prediction per row
FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """Predictions and scores of the dev splits.

    `task` has the options `chosen` on the first split; `loss` is the first split's mean loss per label.
    """

    task: Task
    answers: Answers
    scores: Scores
    chosen: Mapping[str, Any]
    loss: float | None = None

    @property
    def metrics(self) -> Sequence[Metric]:
        """The metrics; the first is the headline, which selects the best epoch."""
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

    def __call__(self, engine: Engine, earlier: Evaluated | None = None) -> Evaluated:
        """Predicts and scores the splits that `earlier` lacks; options are chosen on the first and applied to all."""
        result = earlier or Evaluated(task=self.task, answers={}, scores={}, chosen={})
        task, chosen, loss = result.task, result.chosen, result.loss
        answers, scores = dict(result.answers), dict(result.scores)
        for split, features in self.features.items():
            if split in answers:
                continue
            logits, rows = engine.logits(features), self.rows[split]
            engine.watch(Working(f"scoring {split}"))
            decoded = task.decode(logits, features, rows)
            if not answers:  # the first split
                loss = engine.loss(logits, features)
                if chosen := task.tune(decoded, rows):
                    task = configured(self.task, chosen)
                    fitted = hasattr(task, "decide")
                    decoded = cross_fitted(self.task, decoded, rows) if fitted else task.decode(logits, features, rows)
            answers[split], scores[split] = decoded, task.score(decoded, rows)
        return Evaluated(task=task, answers=answers, scores=scores, chosen=chosen, loss=loss)

    def decided(self, baselines: Mapping[str, Answers], evaluated: Evaluated) -> dict[str, Answers]:
        """Predictions of the baselines by split and method, with options chosen as for the model."""
        by_split = {split: dict(methods) for split, methods in baselines.items()}
        if evaluated.chosen and hasattr(self.task, "decide"):
            first, *others = by_split
            for method, answers in by_split[first].items():
                tuned: Any = chosen_by(self.task, answers, self.rows[first])
                for split in others:
                    by_split[split][method] = tuned.decide(by_split[split][method])
                by_split[first][method] = cross_fitted(self.task, answers, self.rows[first])
        return by_split


def predicted_by_baselines(task: Task, train: Sequence[Row], rows: Mapping[str, Sequence[Row]]) -> dict[str, Answers]:
    """Predictions of the task's baselines for the dev splits, by split and method."""
    by_split = {split: task.baselines(train, rows[split]) for split in task.dev_splits}
    trim_memory()
    return by_split


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
    scores = TaskMetric(config_name=task.name, keep_in_memory=True).compute(predictions=indices, references=indices)
    return {name: float(scores[name]) for name in task.metric_names}


def cross_fitted(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> list[Answer]:
    """Predictions of each fold with the options chosen on the other folds."""
    decided = list(answers)
    for fold in folds(rows):
        others = sorted({*range(len(rows))} - {*fold})
        tuned: Any = chosen_by(task, [answers[i] for i in others], [rows[i] for i in others])
        for index, answer in zip(fold, tuned.decide([answers[i] for i in fold]), strict=True):
            decided[index] = answer
    return decided


def chosen_by(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> Task:
    """The task with the options that score best on these predictions."""
    return configured(task, task.tune(answers, rows))


def folds(rows: Sequence[Row]) -> list[list[int]]:
    """Row indices of each fold, independent of the order of the rows; rows of equal content share a fold."""
    by_content: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        inputs = {name: value for name, value in asdict(row).items() if name not in ("id", "gold")}
        content = hashlib.sha256(json.dumps(inputs, sort_keys=True, default=str).encode()).hexdigest()
        by_content.setdefault(content, []).append(index)
    groups = [group for _, group in sorted(by_content.items())]
    return [sorted(chain(*groups[fold::FOLDS])) for fold in range(min(FOLDS, len(groups)))]
