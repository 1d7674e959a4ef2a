"""Metrics of predictions that can be resampled by rows, and the margin of a run over its best baseline."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from finetune.data.rows import Row
from finetune.metrics.metric import Counted, Interval, Metric
from finetune.metrics.significance import (
    Difference,
    Resampled,
    Rescored,
    paired_bootstrap,
    score_interval,
    sketch,
    wilson,
)
from finetune.runs.record import Margin, best_baseline
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

RESAMPLES = 2_000
RECOMPUTED = 10  # times fewer resamples of a metric that is computed again for each
MOST_DRAWS = 200_000_000  # rows in all resamples, some seconds
FEWEST_RESAMPLES = 200  # resamples


def resampled_metrics(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Resampled]:
    """All metrics that are no average of groups, by name."""
    counted = task.sums(answers, rows)

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
    most = RESAMPLES if isinstance(ours, Counted) else RESAMPLES // RECOMPUTED
    resamples = max(FEWEST_RESAMPLES, min(most, MOST_DRAWS // ours.size))
    interval = metric.possible(score_interval(ours, resamples=resamples), around=ours.score) or _at_an_end(metric, ours)
    best = best_baseline({name: task.score(baseline, rows) for name, baseline in baselines.items()}, metric)
    theirs = best and resampled_metrics(task, baselines[best], rows)[metric.name]
    if not theirs or not math.isfinite(theirs.score):
        return Margin(interval=interval, sketch=sketch(ours, spacing=metric.spacing))
    difference = difference_of(metric, [theirs], [ours], resamples=resamples)
    return Margin(
        interval=interval,
        baseline=best,
        difference=difference.value,
        difference_interval=difference.interval,
        p=difference.p,
        sketch=sketch(ours, spacing=metric.spacing),
        difference_sketch=sketch(ours, theirs, spacing=metric.spacing),
    )


def difference_of(metric: Metric, a: Sequence[Resampled], b: Sequence[Resampled], *, resamples: int) -> Difference:
    """The paired bootstrap, with an interval of differences that are possible.

    Where no resample changes either side, the interval is Newcombe's (1998, method 10) of two shares.
    """
    bootstrap = paired_bootstrap(a, b, resamples=resamples, spacing=metric.spacing)
    interval, first, second = bootstrap.interval, _at_an_end(metric, a[0]), _at_an_end(metric, b[0])
    if interval is None and first is not None and second is not None:
        down = math.hypot(bootstrap.b - second[0], first[1] - bootstrap.a)
        up = math.hypot(second[1] - bootstrap.b, bootstrap.a - first[0])
        interval = bootstrap.value - down, bootstrap.value + up
    return replace(bootstrap, interval=metric.possible_difference(interval, around=bootstrap.value))


def _at_an_end(metric: Metric, scored: Resampled) -> Interval | None:
    """Wilson's interval, on the metric's range, of a score at one end of it, such as all rows right.

    Rows that are not counted, such as those without the label of an F1, tell nothing. None for any other score.
    """
    low, high = metric.range
    if scored.score not in (low, high) or not math.isfinite(high - low):
        return None
    rows = int(scored.counts.any(axis=1).sum()) if isinstance(scored, Counted) else scored.size
    if not rows:
        return None
    least, most = wilson(rows if scored.score == high else 0, of=rows)
    return low + least * (high - low), low + most * (high - low)
