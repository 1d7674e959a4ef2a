"""A model as it is served: its name, its predictor, and what it computes for rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.model_source import ModelSource
from finetune.inference.predict_plan import known_type
from finetune.inference.predictor import Predictor
from finetune.inference.python_rows import names_read, window_values, with_ranks
from finetune.runs.folder import RunFolder
from finetune.task_types.data_type import DataType

PATHS = ("/predict", "/explain")  # behind a model's name; of a single model also without it
CONTEXT_AND_LIST = 2  # columns of a choice whose choices are one column, with a list


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
    def engine(self) -> str:
        """What computes it: torch, or an export's engine with its precision."""
        exported = self.predictor.exported
        return "torch" if exported is None else f"{exported.engine} {exported.precision}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that it predicts, in order; empty where it predicts none."""
        return self.predictor.engine.labels

    @property
    def pretrains(self) -> bool:
        """Whether it predicts words of a text."""
        return self.predictor.engine.pretrains

    @property
    def columns(self) -> tuple[str, ...]:
        """The names under which it reads a row's inputs: the columns of training, or those of its task."""
        layout = self.predictor.layout
        return (*names_read(self.predictor)[0], *(layout.marked if layout else ()))

    def predict(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """The cells of `finetune predict` for each row; for one without a prediction its `error`."""
        return with_ranks(self.predictor, rows, window_values(self.predictor, rows))

    def as_columns(self, row: Row) -> dict[str, Any]:
        """A row of its task by the names of its columns; empty where its texts are not its columns."""
        try:
            every = self.predictor.task.explainer.texts(row)
            texts = list({one.name: one.text for some in every for one in some}.values())
        except UserError:  # a task type whose predictions are not explained
            texts = [row.input]
        columns = self.columns
        if len(columns) < len(texts) and self.kind.any_columns:  # of which the last may be a list
            texts[len(columns) - 1 :] = [texts[len(columns) - 1 :]]  # type: ignore[list-item]
        marked = self.predictor.layout is not None and self.predictor.layout.markers
        return dict(zip(columns, texts, strict=True)) if len(columns) == len(texts) and not marked else {}

    def example(self) -> dict[str, Any]:
        """A row that it can read, by its columns."""
        texts = ("a text", "another text", *(f"text {number}" for number in range(3, len(self.columns) + 1)))
        row: dict[str, Any] = dict(zip(self.columns, texts, strict=False))  # choices must differ
        if self.kind.any_columns and len(row) == CONTEXT_AND_LIST:
            row[self.columns[-1]] = ["a text", "another text"]
        layout = self.predictor.layout
        return row | {name: [0, 1] for name in (layout.marked if layout else ())}
