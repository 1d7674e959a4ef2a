"""Metrics of predictions that can be resampled by rows, and the margin of a run over its best baseline."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

from finetune.data.rows import Row
from finetune.metrics.significance import Resampled, Rescored, paired_bootstrap, score_interval, sketch
from finetune.metrics.sums import Counted
from finetune.runs.margin import Margin, best_baseline
from finetune.task_types.task import Answer, Task

RESAMPLES = 2_000
RECOMPUTED = 10  # times fewer resamples of a metric that is computed again for each
MOST_DRAWS = 200_000_000  # rows in all resamples, some seconds
FEWEST = 200  # resamples


def resampled_metrics(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Resampled]:
    """All metrics except those of groups, by name."""
    counted = task.counted(answers, rows)

    def score(name: str, chosen: Sequence[int]) -> float:
        return task.score([answers[i] for i in chosen], [rows[i] for i in chosen])[name]

    return {
        name: counted.get(name) or Rescored(metric=partial(score, name), size=len(rows))
        for name in task.metric_names
        if "/" not in name
    }


def margin(
    task: Task, rows: Sequence[Row], answers: Sequence[Answer], baselines: Mapping[str, Sequence[Answer]]
) -> Margin:
    """The headline score's interval, and its difference to the best baseline, over the same rows."""
    metric = task.metrics[0]
    ours = resampled_metrics(task, answers, rows)[metric.name]
    if not math.isfinite(ours.score):
        return Margin()
    resamples = _resamples(ours)
    interval = score_interval(ours, resamples=resamples)
    best = best_baseline({name: task.score(given, rows) for name, given in baselines.items()}, metric)
    theirs = best and resampled_metrics(task, baselines[best], rows)[metric.name]
    if not theirs or not math.isfinite(theirs.score):
        return Margin(interval=interval, sketch=sketch(ours, spacing=metric.spacing))
    found = paired_bootstrap([theirs], [ours], resamples=resamples, spacing=metric.spacing)
    return Margin(
        interval=interval, baseline=best, difference=found.value, difference_interval=found.interval, p=found.p,
        sketch=sketch(ours, spacing=metric.spacing),
        difference_sketch=sketch(ours, theirs, spacing=metric.spacing),
    )  # fmt: skip


def _resamples(metric: Resampled) -> int:
    most = RESAMPLES if isinstance(metric, Counted) else RESAMPLES // RECOMPUTED
    return max(FEWEST, min(most, MOST_DRAWS // metric.size))
