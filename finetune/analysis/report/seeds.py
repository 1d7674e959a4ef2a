"""Runs that differ in their seeds alone, and how far their scores are apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from finetune.analysis.report.run_files import Material
from finetune.metrics.scores import metric_named, plain_metrics
from finetune.runs.seeds import Summary, groups, summarised


@dataclass(frozen=True, kw_only=True)
class Spread:
    """One score of several seeds; `baseline` is the best of the cheap methods, None where there is none."""

    split: str
    metric: str
    scores: Sequence[float]
    baseline: float | None

    @property
    def summary(self) -> Summary:
        """Mean, standard deviation, interval."""
        return summarised(self.scores, self.metric)


def seed_groups(runs: Sequence[Material]) -> list[list[Material]]:
    """Those together that differ in their seeds alone, in the order given."""
    by_record = {id(run.record): run for run in runs}
    return [[by_record[id(record)] for record in group] for group in groups(run.record for run in runs)]


def spreads(group: Sequence[Material]) -> list[Spread]:
    """Every score of a group, but those of single classes."""
    first = group[0].record
    return [
        Spread(
            split=split,
            metric=metric,
            scores=[run.record.scores[split][metric] for run in group],
            baseline=max(
                (given[metric] for given in first.baselines.get(split, {}).values()),
                key=metric_named(metric).rank,
                default=None,
            ),
        )
        for split, scores in first.scores.items()
        for metric in plain_metrics(scores)
    ]
