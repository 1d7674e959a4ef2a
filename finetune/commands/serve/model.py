"""The served model: what it computes for rows, and what `/about` says of it."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from finetune.errors import UserError
from finetune.inference.answer_rows import WINDOW
from finetune.inference.model_source import ModelSource
from finetune.inference.predict_plan import known_type
from finetune.inference.predictor import Predictor
from finetune.inference.thresholds import claims_with
from finetune.metrics.calibration import reliability
from finetune.metrics.scores import plain_metrics
from finetune.runs.events import Watcher, unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import named_run
from finetune.runs.record import RunRecord
from finetune.task_types.choice.task import ChoiceTask
from finetune.task_types.columns import Layout
from finetune.task_types.options import option_values
from finetune.task_types.saved_predictions import run_predictions

DATA_SUFFIXES = re.compile(r"(\.[a-z][a-z0-9]*)+$")
MOST_EXAMPLES = 20  # right ones, and wrong ones
MOST_CHARACTERS = 2_000  # of an example
FEWEST_IN_BIN = 5  # dev predictions of a confidence, of fewer of which a share says nothing


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """A loaded model; `run` is the run of its files, where there is one."""

    source: ModelSource
    predictor: Predictor
    run: RunFolder | None = None

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
        """What computes it: torch, or an export's engine with its precision."""
        exported = self.predictor.exported
        return "torch" if exported is None else f"{exported.engine} {exported.precision}"

    @property
    def layout(self) -> Layout:
        """The columns that it was trained on; of a task without columns those under which it reads a row's inputs."""
        return self.predictor.layout or Layout(shape=self.shape, text=self.predictor.python_rows.names[0])

    @property
    def columns(self) -> list[str]:
        """The names of a row's inputs."""
        return [*self.predictor.python_rows.names[0], *self.layout.marked]

    @property
    def has_choices(self) -> bool:
        """Whether the last inputs of a row are choices."""
        return known_type(self.predictor.task).list_last and len(self.layout.text) > 1

    def predict(self, rows: Sequence[Any]) -> list[tuple[str, dict[str, Any]]]:
        """For each row the query of a ranking, and the cells of `finetune predict` or its `error`."""
        return list(self.predictor.queries_and_cells(rows, first=WINDOW))

    def example(self) -> dict[str, Any]:
        """A row that it can read, by its columns."""
        columns = self.predictor.python_rows.names[0]
        row: dict[str, Any] = {name: f"text {number}" for number, name in enumerate(columns, start=1)}
        if self.has_choices and len(row) == 2:  # the context, and a list of choices
            row[columns[-1]] = ["text 2", "text 3"]
        return row | {name: [0, 1] for name in self.layout.marked}

    def about(self, *, examples: bool) -> dict[str, Any]:
        """What it reads and predicts, its scores and how far it can be trusted; with `examples` rows of dev too.

        `calibration` has for each tenth of confidence with dev predictions their number and the share that was right;
        `first_choice` is the number of a row's first choice in predictions, and `check` how an export answered dev.

        Raises UserError where the record of its run is damaged.
        """
        predictor, task = self.predictor, self.predictor.task
        record = self.run.record() if self.run else None
        check = predictor.exported.check if predictor.exported else None
        first_choice = str(task.named(0)) if isinstance(task, ChoiceTask) else ""
        return {
            "name": self.name,
            "task": task.name,
            "shape": self.shape,
            "columns": self.columns,
            "labels": list(predictor.engine.labels),
            "scores": {} if record is None else _scores(record),
            "fingerprint": predictor.fingerprint,
            "max_length": predictor.max_length,
            "engine": self.engine,
            "calibrated": predictor.temperature != 1,
            "calibration": self._calibration(),
            "examples": self._examples(self.run, record) if examples and self.run and record else [],
            "choices": self.has_choices,
            "options": option_values(task),
            "contexts": self.layout.contexts,
            "first_choice": int(first_choice) if first_choice.isdecimal() else 1,
            "marked": list(self.layout.marked),
            "check": check and asdict(replace(check, changed=())),  # else the ids of rows
        }

    def _calibration(self) -> list[dict[str, Any]]:
        """Empty where it is unknown: without dev predictions, and with another temperature than theirs."""
        predictor, source = self.predictor, self.source
        if predictor.folder is None or predictor.temperature != 1:
            return []
        try:
            confidence, right, _ = claims_with(source.model, predictor.folder, out=Path(source.out)).arrays()
        except UserError:
            return []
        return [asdict(one) for one in reliability(confidence, right) if one.count >= FEWEST_IN_BIN]

    def _examples(self, run: RunFolder, record: RunRecord) -> list[dict[str, Any]]:
        """Dev rows with their label and prediction, the wrong ones first; none where they are gone or damaged."""
        try:
            table = run_predictions(record, run, record.first_split)
        except UserError:
            return []
        if table is None or table.right is None:
            return []
        wrong, columns, found = table.wrong, self.columns, list[dict[str, Any]]()
        for place in (*np.flatnonzero(wrong)[:MOST_EXAMPLES], *np.flatnonzero(~wrong)[:MOST_EXAMPLES]):
            line = table.lines[place]
            inputs = [line[name] for name in signature(self.predictor.task.row).parameters if line.get(name)]
            if self.has_choices and len(columns) > len(inputs):  # a column each
                inputs[-1:] = inputs[-1]
            label, prediction = table.words(place)
            if len(columns) == len(inputs) and sum(map(len, inputs)) <= MOST_CHARACTERS:
                row = dict(zip(columns, inputs, strict=True))
                found.append({"row": row, "prediction": prediction, "label": label, "right": not wrong[place]})
        return found


def load_served(source: ModelSource, *, watch: Watcher = unwatched) -> ServedModel:
    """The model. Raises UserError where it cannot be loaded, or its rows are of no known type."""
    predictor = source.load(watch=watch)
    known_type(predictor.task)
    quiet = replace(predictor.engine, watch=unwatched)  # progress is of loading alone
    names, run = [source.model], None
    if predictor.exported is not None:
        names += [str(Path(source.model).parent), predictor.exported.source.run]
    with suppress(UserError):  # of an export whose run is elsewhere
        run = next(filter(None, (named_run(name, Path(source.out)) for name in names)), None)
    return ServedModel(source=source, predictor=replace(predictor, engine=quiet), run=run)


def _scores(record: RunRecord) -> dict[str, Any]:
    """The scores on the split that runs are compared on, the headline first with its 95 % interval."""
    split = record.first_split
    scores, margin = record.scores[split], record.margins.get(split)
    found = dict[str, Any]()
    for name in sorted(plain_metrics(scores), key=lambda name: name != record.headline):
        low, high = (margin and name == record.headline and margin.interval) or (None, None)
        value = None if math.isnan(scores[name]) else scores[name]
        shown = "" if value is None else record.metric(name).shown(value)
        found[name] = {"value": value, "low": low, "high": high, "rows": record.rows.get(split), "shown": shown}
    return found
