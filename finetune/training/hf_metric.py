"""A task's scores as an `evaluate.Metric`. Importing `evaluate` takes seconds: only a run does it, at its end.

`evaluate.load("glue", "mrpc")` fetches a script from the Hub; this one needs no network.
"""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from finetune.data.rows import Row
from finetune.task_types.task import Answer, Task


class TaskMetric(evaluate.Metric):  # type: ignore[misc]
    """`compute(predictions=answers, references=row numbers)` over fixed rows of one task.

    Answers go through the library by their numbers: a column casts all values to one type, and keeps no
    probabilities.
    """

    def __init__(self, task: Task, rows: Sequence[Row]) -> None:
        self.task = task
        self.rows = rows
        self.answers: Sequence[Answer] = ()
        super().__init__(config_name=task.name, keep_in_memory=True)

    def compute(self, *, predictions: Sequence[Answer], references: Sequence[int]) -> dict[str, float]:
        """As `task.score` of these answers to these rows."""
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
