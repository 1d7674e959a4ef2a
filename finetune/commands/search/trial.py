"""A trial: settings, a run for each seed, and what became of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean
from typing import Any

from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import ResolvedRun


@dataclass(frozen=True, kw_only=True)
class SeedRun:
    """The run of one seed: what is to be run, and its id."""

    planned: ResolvedRun
    id: str


@dataclass(kw_only=True)
class Trial:
    """Settings of the space (dotted keys) with their runs, number so many of the search.

    `records` has one a seed once it is finished, `by_epoch` the mean score over the seeds after the epochs at which it
    was compared. It ends finished, pruned after an epoch, or with a `failure`. `known`: it was not proposed here.
    """

    settings: Mapping[str, Any]
    number: int = 0
    runs: Sequence[SeedRun] = ()
    known: bool = False
    records: list[RunRecord] = field(default_factory=list)
    by_epoch: dict[int, float] = field(default_factory=dict)
    pruned_at: int | None = None
    failure: str = ""

    @property
    def epochs(self) -> int:
        """The epochs of its runs."""
        return max((run.planned.recipe.train.parts for run in self.runs), default=0)

    @property
    def scores(self) -> list[float]:
        """The headline score of each seed on the first split."""
        return [record.score for record in self.records]

    @property
    def value(self) -> float | None:
        """The mean score over its seeds; None unless it is finished and the mean is a number."""
        if self.failure or self.pruned_at is not None or not self.records:
            return None
        first = self.records[0]
        mean = first.metric(first.headline).spacing.mean(self.scores)
        return mean if isfinite(mean) else None

    def finish(self, records: Sequence[RunRecord]) -> None:
        """Takes the records of all seeds; a mean that is not a number is a failure."""
        self.records = list(records)
        if not isfinite(fmean(self.scores)):
            self.failure = "its score is undefined"
