"""A model as it is served: its name, its predictor, and what it computes for rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finetune.inference.model_source import ModelSource
from finetune.inference.predictor import Predictor
from finetune.inference.predict_plan import known_type
from finetune.inference.python_rows import names_read, window_values
from finetune.runs.folder import RunFolder
from finetune.task_types.data_type import DataType


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """A loaded model under the name that paths have; `run` is that of its files, if there is one."""

    name: str
    source: ModelSource
    predictor: Predictor
    run: RunFolder | None = None

    @property
    def kind(self) -> DataType:
        """The type of its rows."""
        return known_type(self.predictor.task)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names under which it reads a row's inputs: the columns of training, or those of its task."""
        return names_read(self.predictor)[0]

    def predict(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """The cells of `finetune predict` for each row; for one without a prediction its `error`."""
        return window_values(self.predictor, rows)
