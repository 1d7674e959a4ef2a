"""Answers and scores of the dev splits: of a model under training, of baselines, and as `evaluate` computes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from finetune.data.rows import Row
from finetune.metrics.scores import Scores
from finetune.models.batch import Feature
from finetune.task_types.options import configured
from finetune.task_types.task import Answer, Task
from finetune.training.cross_fit import chosen_by, cross_fitted
from finetune.training.trainer import Progress, Trainer

Answers = dict[str, list[Answer]]  # split (or method) -> an answer a row


@dataclass(kw_only=True)
class Evaluation:
    """Predicts and scores the splits of `features`.

    `answers` holds what the last call found; then `task` also has the options that the first split chose, which
    `chosen` holds.
    """

    task: Task
    rows: Mapping[str, Sequence[Row]]
    features: Mapping[str, Sequence[Feature]]
    answers: Answers = field(default_factory=dict)
    chosen: dict[str, Any] = field(default_factory=dict)
    _given: Task = field(init=False)

    def __post_init__(self) -> None:
        """Keeps the task as it is before anything is chosen."""
        self._given = self.task

    def __call__(self, trainer: Trainer) -> tuple[float, Scores]:
        """The headline score, which is the first metric of the first split, and all scores."""
        self.task, self.chosen = self._given, {}
        for index, (split, features) in enumerate(self.features.items()):
            logits, rows = trainer.predict(features), self.rows[split]
            answers = self.task.decode(logits, features, rows)
            if index == 0 and (chosen := self.task.calibrate(answers, rows)):
                self.task, self.chosen = configured(self.task, chosen), chosen
                fitted = self.task.cross_fits
                answers = (
                    cross_fitted(self._given, answers, rows) if fitted else self.task.decode(logits, features, rows)
                )
            self.answers[split] = answers
        scores = {split: self.task.score(answers, self.rows[split]) for split, answers in self.answers.items()}
        return next(iter(scores.values()))[self.task.metrics[0]], scores

    def final_answers(self, trainer: Trainer, progress: Progress) -> Answers:
        """Those of the selected weights, predicted anew where the last call was with others."""
        if progress.selected_epoch != len(progress.epochs) or not self.answers:
            self(trainer)
        return self.answers

    def official_scores(self, answers: Answers) -> Scores:
        """The final scores, through the task's `evaluate.Metric`."""
        from finetune.training.hf_metric import TaskMetric

        scores: Scores = {}
        for split, given in answers.items():
            metric = TaskMetric(self.task, self.rows[split])
            found = metric.compute(predictions=given, references=range(len(given)))
            scores[split] = {name: float(found[name]) for name in self.task.metrics}
        return scores

    def remarks(self) -> list[str]:
        """What a user should know of the answers, by split, and of the baselines."""
        of_answers = [
            f"{split}: {remark}"
            for split, answers in self.answers.items()
            for remark in self.task.remarks(answers, self.rows[split])
        ]
        return of_answers + self.task.baseline_remarks(self.rows.get(self.task.train_split, ()))

    def baselines(self, train: Sequence[Row]) -> dict[str, Answers]:
        """By split, what each cheap method answers that has seen the training rows, with options chosen like ours."""
        given = {split: self._given.baselines(train, self.rows[split]) for split in self.features}
        if not self.chosen or not self._given.cross_fits:
            return given
        first, *others = given
        rows = self.rows[first]
        tuned = {method: chosen_by(self._given, answers, rows) for method, answers in given[first].items()}
        fitted = {method: cross_fitted(self._given, answers, rows) for method, answers in given[first].items()}
        return {first: fitted} | {
            split: {method: tuned[method].decided(answers) for method, answers in given[split].items()}
            for split in others
        }

    def score_all(self, methods: Mapping[str, Answers]) -> dict[str, Scores]:
        """By split, the scores of each method."""
        return {
            split: {method: self.task.score(answers, self.rows[split]) for method, answers in given.items()}
            for split, given in methods.items()
        }
