"""Runs that differ in their seeds alone, and how far their scores are apart."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from finetune.display import plain_metrics
from finetune.report.material import Material

SEEDS = ("seed", "init_seed", "data_seed")


@dataclass(frozen=True, kw_only=True)
class Spread:
    """One score of several seeds; `baseline` is the best of the cheap methods, None where there is none."""

    split: str
    metric: str
    scores: Sequence[float]
    baseline: float | None

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return statistics.fmean(self.scores)

    @property
    def deviation(self) -> float:
        """The standard deviation of a sample."""
        return statistics.stdev(self.scores)


def seed_groups(runs: Sequence[Material]) -> list[list[Material]]:
    """Runs of the same task, data, weights and settings, in the order given."""
    groups: dict[str, list[Material]] = {}
    for run in runs:
        record = run.record
        settings = {key: value for key, value in record.recipe.items() if key not in SEEDS}
        same = (record.task, record.task_version, record.weights, record.data, record.precision, settings)
        groups.setdefault(repr(same), []).append(run)
    return list(groups.values())


def spreads(group: Sequence[Material]) -> list[Spread]:
    """Every score of a group, but those of single classes."""
    first = group[0].record
    return [
        Spread(
            split=split,
            metric=metric,
            scores=[run.record.scores[split][metric] for run in group],
            baseline=max((given[metric] for given in first.baselines.get(split, {}).values()), default=None),
        )
        for split, scores in first.scores.items()
        for metric in plain_metrics(scores)
    ]
