"""Figures: what the causes look at in a run's record."""

import math
from dataclasses import dataclass
from functools import cached_property

from finetune.metrics.metric import Metric
from finetune.runs.folder import RunFolder
from finetune.runs.recipe_tables import BY_LABELS
from finetune.runs.record import RunRecord
from finetune.runs.verdict import Verdict, verdict_of
from finetune.task_types.starting_recipe import default_rate

USUAL_RATES = (
    (60_000_000, 2e-5),
    (8_000_000, 1e-4),
    (1_000_000, 5e-4),
    (0, 1e-3),
)  # by the least weights: BERT base, MiniLM, tiny ones
FROZEN_RATE, LORA_RATE = 1e-3, 2e-4
NEARLY_ALL = 0.95  # of a score of 0 to 1
LEAST_NOISE = 0.02  # of a score, where its interval is not known


@dataclass(frozen=True)
class Figures:
    """A record, and what follows from it. Losses are finite and of each epoch, else there are none.

    `folder` is that of the run, whose recipe file a command may name, and `runs` how many differ from it in their seeds
    alone, it included.
    """

    record: RunRecord
    folder: RunFolder | None = None
    runs: int = 1

    @cached_property
    def verdict(self) -> Verdict:
        """Against the best baseline."""
        return verdict_of([self.record])

    @property
    def is_better(self) -> bool:
        """Whether the model is worth more than the best baseline, by more than chance."""
        return self.verdict.level == "better"

    @property
    def is_right(self) -> bool:
        """Whether nearly all is right, whatever a baseline reaches."""
        return self.metric.scale == Metric.scale and self.metric.greater_is_better and self.record.score >= NEARLY_ALL

    @property
    def metric(self) -> Metric:
        """The headline's."""
        return self.record.metric(self.record.headline)

    @property
    def trains_by_updates(self) -> bool:
        """Whether losses are of updates on the labels, so that epochs can be compared."""
        return self.record.recipe.get("train", {}).get("solver", "adam") in BY_LABELS

    @cached_property
    def losses(self) -> list[float]:
        """The mean training loss of each epoch."""
        return _finite([epoch["loss"] for epoch in self.record.epochs]) if self.trains_by_updates else []

    @cached_property
    def dev_losses(self) -> list[float]:
        """The loss on dev after each epoch."""
        return _finite([epoch.get("dev_loss") for epoch in self.record.epochs]) if self.trains_by_updates else []

    @cached_property
    def ranks(self) -> list[float]:
        """The headline score after each epoch, of which more is better; NaN where it is undefined."""
        return [self.metric.rank(epoch["headline"]) for epoch in self.record.epochs]

    @property
    def noise(self) -> float:
        """Half the 95 % interval of the headline on the first split: a difference that chance can make."""
        margin = self.record.margins.get(self.record.first_split)
        if margin is None or margin.interval is None:
            return LEAST_NOISE * (abs(self.record.score) if self.metric.scale != Metric.scale else 1.0)
        return abs(margin.interval[1] - margin.interval[0]) / 2

    @property
    def rate(self) -> float | None:
        """The peak learning rate; None where the schedule, or a solver that is not Adam, gives the number another
        meaning.
        """
        train = self.record.recipe.get("train", {})
        usual = train.get("solver", "adam") in ("adam", "radam") and train.get("schedule", "linear") != "noam"
        return train.get("learning_rate") if usual else None

    @property
    def usual_rate(self) -> float:
        """The learning rate that fits an encoder of this size."""
        recipe, weights = self.record.recipe, self.record.parameters.get("all", 0)
        if recipe.get("frozen"):
            return FROZEN_RATE
        known = next(rate for least, rate in USUAL_RATES if weights >= least)
        rate = known if weights else default_rate(self.record.model)
        return max(rate, LORA_RATE) if recipe.get("lora") else rate

    @property
    def updates(self) -> int:
        """How many updates training made, as far as the record tells."""
        record = self.record
        if record.updates is not None:
            return record.updates
        batch = int(record.recipe.get("train", {}).get("batch_size", 32))
        return len(record.epochs) * math.ceil(record.features.get("train", 0) / batch)

    @property
    def dev_rows(self) -> int:
        """The rows of the first split."""
        return self.record.rows.get(self.record.first_split, 0)

    def shown(self, epoch: int) -> str:
        """The headline score after an epoch, counted from 1."""
        return self.metric.shown(self.record.epochs[epoch - 1]["headline"])

    def noted(self, *words: str) -> tuple[str, ...]:
        """The notes of the record with any of these words."""
        return tuple(note for note in self.record.notes if any(word in note for word in words))


def _finite(values: list[float | None]) -> list[float]:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return known if len(known) == len(values) else []
