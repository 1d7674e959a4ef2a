"""A task's scores as an `evaluate.Metric`. Importing `evaluate` takes seconds, so only a run does, at its end.

`evaluate.load("glue", "mrpc")` downloads a script from the Hub; this needs no network.
"""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from finetune.data.rows import Row
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task


class TaskMetric(evaluate.Metric):  # type: ignore[misc]
    """`compute(predictions=predictions, references=row indices)` over fixed rows of one task.

    Predictions pass through the library as indices: its columns cast values to one type and drop probabilities.
    """

    def __init__(self, task: Task, rows: Sequence[Row]) -> None:
        self.task = task
        self.rows = rows
        self.answers: Sequence[Answer] = ()
        super().__init__(config_name=task.name, keep_in_memory=True)

    def compute(self, *, predictions: Sequence[Answer], references: Sequence[int]) -> dict[str, float]:
        """Same as `task.score` of these predictions for these rows."""
        self.answers = predictions
        found: dict[str, float] = super().compute(predictions=range(len(predictions)), references=references)
        return found

    def _info(self) -> Any:
        return evaluate.MetricInfo(
            description=f"Scores of the task {self.task.name}: {', '.join(self.task.metric_names)}",
            citation="",
            features=datasets.Features(dict.fromkeys(("predictions", "references"), datasets.Value("int64"))),
        )

    def _compute(self, predictions: Sequence[int], references: Sequence[int]) -> dict[str, float]:
        rows = [self.rows[index] for index in references]
        return self.task.score([self.answers[index] for index in predictions], rows)
