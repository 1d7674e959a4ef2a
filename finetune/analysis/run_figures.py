"""Figures derived from the record of a finished run, and the commands that repeat the run with a change."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from finetune.data.paths import is_data
from finetune.metrics.metric import Metric
from finetune.models.encoder_size import default_rate
from finetune.runs.folder import RunFolder
from finetune.runs.record import Observed, RunRecord
from finetune.runs.settings import typed_settings
from finetune.runs.verdict import verdict_of

Words = tuple[str, ...]  # of a command, behind `finetune`
FAR = 4  # times more or less than the usual learning rate: explains a failure
# The learning rate that fits an encoder with at least so many weights: BERT base, MiniLM, tiny ones.
USUAL_RATES = ((60_000_000, 2e-5), (8_000_000, 1e-4), (1_000_000, 5e-4), (0, 1e-3))
FROZEN_RATE, LORA_RATE = 1e-3, 2e-4
ADAM = ("adam", "radam")  # solvers that train all weights on the labels; radam is of earlier versions
NEARLY_ALL = 0.95  # of a score of 0 to 1
LEAST_NOISE = 0.02  # of a score, where its interval is not known
ENOUGH_UPDATES, TIMES = 200, 3  # of a longer run


class Figures:
    """A record, and figures derived from it.

    `losses` and `dev_losses` have a finite value for each epoch of updates on the labels, else none. `rate` is the peak
    learning rate; None if the schedule, or a solver other than Adam, gives the number another meaning. `off_rate` notes
    that it is far from the usual rate. `ranks` are the headline scores after each epoch; more is better.
    """

    def __init__(self, record: RunRecord, folder: RunFolder | None, runs: int) -> None:
        self.record, self.recipe, self.folder, self.runs = record, record.recipe, folder, runs
        self.options: dict[str, Any] = self.recipe.get("options") or {}
        self.train: dict[str, Any] = self.recipe.get("train", {})
        self.split, self.verdict, self.seen = record.first_split, verdict_of([record]), record.observed or Observed()
        self.dev_rows, self.train_rows = record.rows.get(self.split, 0), record.rows.get("train", 0)
        self.metric, self.is_better = self.verdict.metric, self.verdict.level == "better"
        self.is_share = self.metric.scale == Metric.scale
        is_nearly_all = self.is_share and self.metric.greater_is_better and record.score >= NEARLY_ALL
        self.is_good = self.is_better or is_nearly_all
        self.by_updates = self.train.get("solver", "adam") in ADAM
        self.losses, self.dev_losses = self._finite("loss"), self._finite("dev_loss")
        self.ranks = [self.metric.rank(epoch["headline"]) for epoch in record.epochs]
        self.batches = math.ceil(record.features.get("train", 0) / int(self.train.get("batch_size", 32)))
        self.updates = record.updates or len(record.epochs) * self.batches
        adam = self.by_updates and self.train.get("schedule", "linear") != "noam"  # of earlier versions
        self.rate: float | None = self.train.get("learning_rate") if adam else None
        self.usual_rate, self.off_rate = self._usual_rate(), ""
        if self.rate is not None and not self.usual_rate / FAR < self.rate < self.usual_rate * FAR:
            side = "high" if self.rate > self.usual_rate else "low"
            self.off_rate = f"; train.learning_rate {self.rate:g} is {side}"
        margin = record.margins.get(self.split)
        ends = None if margin is None else margin.interval
        self.noise = abs(ends[1] - ends[0]) / 2 if ends else LEAST_NOISE * (1.0 if self.is_share else abs(record.score))

    def _finite(self, name: str) -> list[float]:
        values = [epoch.get(name) for epoch in self.record.epochs] if self.by_updates else []
        finite = [value for value in values if value is not None and math.isfinite(value)]
        return finite if len(finite) == len(values) else []

    def _usual_rate(self) -> float:
        if self.recipe.get("frozen"):
            return FROZEN_RATE
        if weights := self.record.parameters.get("all", 0):
            rate = next(rate for least, rate in USUAL_RATES if weights >= least)
        else:
            rate = default_rate(self.record.model)
        return max(rate, LORA_RATE) if self.recipe.get("lora") else rate

    def noted(self, words: str) -> Words:
        """The notes of the record with these words."""
        return tuple(note for note in self.record.notes if words in note)

    def again(self, changes: Mapping[str, Any], without: Sequence[str] = ()) -> Words:
        """The words that repeat the run with `changes`, and `without` other settings.

        They start with the typed target, or with the run's recipe file; empty without either.
        """
        file = None if self.folder is None else self.folder.path / "recipe.toml"
        typed = self.seen.typed or ([str(file)] if file is not None and file.is_file() else [])
        if not typed:
            return ()
        rest = [word for word in typed[1:] if _key(word) not in (*changes, *without)]
        folder = ("--data", self.seen.data_folder) if self.seen.data_folder else ()
        return ("run", typed[0], *rest, *typed_settings(changes), *folder)

    def with_rate(self, rate: float = 0.0) -> Words:
        """The run again with another learning rate, by default the usual one; empty if the rate has another meaning."""
        return () if self.rate is None else self.again({"train.learning_rate": rate or self.usual_rate})

    def longer(self) -> Words:
        """The run again, three times as long or more, in its own unit of length; empty for a solver without one."""
        updates, epochs = max(TIMES * self.updates, ENOUGH_UPDATES), max(1, len(self.record.epochs))
        if not self.by_updates:
            return ()
        if self.train.get("updates"):
            return self.again({"train.updates": updates})
        return self.again({"train.epochs": max(TIMES * epochs, math.ceil(updates / max(1, self.batches)))})

    def checked(self) -> Words:
        """The words of the command that lists faults of the rows: `check` for the user's data, else `report`."""
        from finetune.task_types.columns import OPTIONS

        task, typed = str(self.recipe["task"]), self.seen.typed
        if not (is_data(task) or self.options.get("shape")):  # from another folder its file is not seen
            return ("report", self.record.id)
        named = {_key(word) for word in typed[1:]} if typed and typed[0] == task else self.options.keys()
        columns = {key: value for key, value in self.options.items() if key in OPTIONS and key in named}
        return ("check", task, *typed_settings(columns))


def _key(word: str) -> str:
    return word.partition("=")[0].removeprefix("options.")
