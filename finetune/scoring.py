"""Answers and scores: of a model under training, of baselines, and as `evaluate` computes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from finetune.features import Feature
from finetune.task import Answer, Row, Task
from finetune.trainer import Scores, Trainer


@dataclass(kw_only=True)
class Evaluation:
    """Predicts and scores the splits of `features`; `answers` holds what the last call found, by split."""

    task: Task
    rows: Mapping[str, Sequence[Row]]
    features: Mapping[str, Sequence[Feature]]
    answers: dict[str, list[Answer]] = field(default_factory=dict)

    def __call__(self, trainer: Trainer) -> tuple[float, Scores]:
        """The headline score, which is the first metric of the first split, and all scores."""
        for split, features in self.features.items():
            self.answers[split] = self.task.decode(trainer.predict(features), features, self.rows[split])
        scores = {split: self.task.score(answers, self.rows[split]) for split, answers in self.answers.items()}
        return next(iter(scores.values()))[self.task.metrics[0]], scores


def official_scores(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, float]:
    """The final scores, through the task's `evaluate.Metric`."""
    from finetune.evaluate_metric import TaskMetric

    scores: dict[str, float] = TaskMetric(task, rows).compute(
        predictions=[answer.value for answer in answers], references=range(len(rows))
    )
    return {name: float(scores[name]) for name in task.metrics}


def score_all(task: Task, answers: Mapping[str, Sequence[Answer]], rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Scores of several methods, by the method's name."""
    return {name: task.score(given, rows) for name, given in answers.items()}
