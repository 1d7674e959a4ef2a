"""A task's scores as an `evaluate.Metric`. Importing `evaluate` takes seconds: only a run does it, at its end.

`evaluate.load("glue", "mrpc")` fetches a script from the Hub; this one needs no network.
"""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from finetune.task import Answer, Row, Task


class TaskMetric(evaluate.Metric):  # type: ignore[misc]
    """`compute(predictions=answers' values, references=row numbers)` over fixed rows of one task."""

    def __init__(self, task: Task, rows: Sequence[Row]) -> None:
        self.task = task
        self.rows = rows
        super().__init__(config_name=task.name, keep_in_memory=True)

    def _info(self) -> Any:
        gold = self.task.gold(self.rows[:1])[0].value
        return evaluate.MetricInfo(
            description=f"Scores of the task {self.task.name}: {', '.join(self.task.metrics)}",
            citation="",
            features=datasets.Features({"predictions": _feature(gold), "references": datasets.Value("int64")}),
        )

    def _compute(self, predictions: Sequence[Any], references: Sequence[int]) -> dict[str, float]:
        rows = [self.rows[index] for index in references]
        return self.task.score([Answer(value=value) for value in predictions], rows)


def _feature(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return datasets.List(_feature(value[0] if value else ""))
    names = {bool: "bool", int: "int64", float: "float64"}
    return datasets.Value(names.get(type(value), "string"))
