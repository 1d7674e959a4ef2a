"""Evaluation: scores of a model or of predictions, as `finetune.evaluate` returns them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from finetune.metrics.metric import Metric, Scores, find_metric, plain_metrics
from finetune.task_types.task import Task

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What `finetune.evaluate` returns.

    Example: `finetune.evaluate(run.model, "mrpc").scores["dev"]["f1"]`

    Attributes:
        task: The task.
        scores: For each split the score of each metric, as computed: 0.843 is 84.3 points.
        shared: For each split how many rows have texts that the model's run, or one that it learned from, was trained
            on, by the run's id; without those that have none.
        file: The name of the data file that was scored, if it is one.
        saved: Whether these are scores of saved predictions, without a model.
        notes: What to take into account, such as that these are rows of the training data.
    """

    task: Task
    scores: Scores
    notes: tuple[str, ...] = ()
    shared: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    file: str = ""
    saved: bool = False

    def metric(self, name: str) -> Metric:
        """A metric of the task."""
        return find_metric(name, self.task.metrics)

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each split and metric."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=["split", "metric", "score"])

    def __repr__(self) -> str:
        shown = [
            f"{split} {name} {self.metric(name).shown(given[name])}"
            for split, given in self.scores.items()
            for name in plain_metrics(given)
        ]
        return f"<Evaluation on {self.task.name}: {', '.join(shown) or 'no labels, so no scores'}>"

    def _rows(self) -> list[tuple[str, str, float]]:
        return [(split, name, score) for split, given in self.scores.items() for name, score in given.items()]
