"""The served model: what it computes for rows, and what `/about` says of it."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.inference.answer_rows import WINDOW
from finetune.inference.predict_plan import known_type
from finetune.inference.predictor import Predictor, load_predictor
from finetune.metrics.metric import plain_metrics
from finetune.runs.events import Watcher, unwatched
from finetune.runs.lookup import named_run
from finetune.runs.record import RunRecord
from finetune.task_types.choice.task import ChoiceTask
from finetune.task_types.columns import Layout
from finetune.task_types.options import option_values
from finetune.task_types.registry import find

DATA_SUFFIXES = re.compile(r"(\.[a-z][a-z0-9]*)+$")


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """A loaded model; `record` is its run's, where there is one."""

    predictor: Predictor
    record: RunRecord | None = None

    @property
    def name(self) -> str:
        """Its task, `reviews` of reviews.csv."""
        return DATA_SUFFIXES.sub("", self.predictor.task.name)

    @property
    def shape(self) -> str:
        """The name of its task type."""
        return known_type(self.predictor.task).name

    @property
    def engine(self) -> str:
        """What computes it: torch, or an export's engine."""
        return "torch" if self.predictor.exported is None else self.predictor.exported.engine

    @property
    def layout(self) -> Layout:
        """The columns that it was trained on; of a task without columns those under which it reads a row's inputs."""
        return self.predictor.layout or Layout(shape=self.shape, text=self.predictor.python_rows.names[0])

    @property
    def has_choices(self) -> bool:
        """Whether the last inputs of a row are choices."""
        return known_type(self.predictor.task).list_last and len(self.layout.text) > 1

    def predict(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """For each row the cells of `finetune predict` or its `error`."""
        return list(self.predictor.cells_of(rows, first=WINDOW))

    def example(self) -> dict[str, Any]:
        """A row that it can read, by its columns."""
        columns = self.predictor.python_rows.names[0]
        row: dict[str, Any] = {name: f"text {number}" for number, name in enumerate(columns, start=1)}
        if self.has_choices and len(row) == 2:  # the context, and a list of choices
            row[columns[-1]] = ["text 2", "text 3"]
        return row | {name: [0, 1] for name in self.layout.marked}

    def about(self) -> dict[str, Any]:
        """What it reads and predicts, and its scores; `first_choice` is the number of a row's first choice in
        predictions.
        """
        predictor, task, layout = self.predictor, self.predictor.task, self.layout
        first_choice = str(task.named(0)) if isinstance(task, ChoiceTask) else ""
        return {
            "name": self.name,
            "task": task.name,
            "shape": self.shape,
            "columns": [*predictor.python_rows.names[0], *layout.marked],
            "labels": list(predictor.engine.labels),
            "scores": {} if self.record is None else _scores(self.record),
            "fingerprint": predictor.fingerprint,
            "max_length": predictor.max_length,
            "engine": self.engine,
            "choices": self.has_choices,
            "options": option_values(task),
            "contexts": layout.contexts,
            "first_choice": int(first_choice) if first_choice.isdecimal() else 1,
            "marked": list(layout.marked),
        }


def load_served(
    model: str, *, task: str | None = None, out: Path = Path("results"), device: str | None = None,
    watch: Watcher = unwatched,
) -> ServedModel:  # fmt: skip
    """Loads a model. Raises UserError where it cannot be, for rows of no known type, and for a damaged record."""
    named = None if task is None else find(task)
    predictor = load_predictor(model, task=named, out=out, watch=watch, device=device)
    known_type(predictor.task)
    quiet = replace(predictor.engine, watch=unwatched)  # progress is of loading alone
    run = named_run(model, out) if predictor.exported is None else None
    return ServedModel(predictor=replace(predictor, engine=quiet), record=run.record() if run else None)


def _scores(record: RunRecord) -> dict[str, Any]:
    """The scores on the split that runs are compared on, the headline first with its 95 % interval."""
    split = record.first_split
    scores, margin = record.scores[split], record.margins.get(split)
    shown = dict[str, Any]()
    for name in sorted(plain_metrics(scores), key=lambda name: name != record.headline):
        low, high = (margin and name == record.headline and margin.interval) or (None, None)
        value = None if math.isnan(scores[name]) else scores[name]
        text = "" if value is None else record.metric(name).shown(value)
        shown[name] = {"value": value, "low": low, "high": high, "rows": record.rows.get(split), "shown": text}
    return shown
