"""Statistics over runs that differ only in their seeds: mean, spread, confidence interval, failures."""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.recipe_diff import applied
from finetune.runs.record import RunRecord

SEEDS = ("seed", "init_seed", "data_seed")
NO_SPREAD = 1e-12  # a standard deviation that rounding can cause
CONSTANT = ("majority", "mean", "no-answer")  # baselines with a constant prediction


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The mean of some scores, their standard deviation, 95 % interval of the mean (Student's t), and best.

    The interval has only possible scores; `half` is half its width without that limit, 0 where there is none.

    Statistics of several scores are None for a single one, and where one is NaN, as the mean is then. Equal
    scores have no interval: they do not show that the next is the same.
    """

    n: int
    mean: float
    best: float
    sd: float | None = None
    interval: tuple[float, float] | None = None
    half: float = 0.0


def summarised(scores: Sequence[float], metric: Metric) -> Summary:
    """The summary of at least one score of a metric."""
    n, mean, best = len(scores), statistics.fmean(scores), max(scores, key=metric.rank)
    if n < 2 or not all(map(math.isfinite, scores)):
        return Summary(n=n, mean=mean, best=best)
    from scipy.special import stdtrit  # Student's t, in half the time that scipy.stats takes to import

    sd = statistics.stdev(scores)
    if sd < NO_SPREAD:
        return Summary(n=n, mean=mean, best=best, sd=sd)
    half = float(stdtrit(n - 1, 0.975)) * sd / math.sqrt(n)
    interval = metric.possible((mean - half, mean + half), around=mean)
    return Summary(n=n, mean=mean, best=best, sd=sd, interval=interval, half=half)


def groups(records: Iterable[RunRecord], *, over: Sequence[str] = ()) -> list[list[RunRecord]]:
    """Groups records that differ only in their seeds; groups and runs keep their order.

    `over` are further settings (dotted keys) that runs of a group may differ in, as the folds of cross-validation.
    """
    every = list(records)
    found: dict[str, list[RunRecord]] = {}
    for record, settings in zip(every, applied(every), strict=True):
        kept = {key: value for key, value in settings.items() if key not in (*SEEDS, *over, "model")}
        facts = [record.task, record.task_version, record.weights, record.precision, kept, _scored(record)]
        key = json.dumps([*facts, None if over else record.data], sort_keys=True)
        found.setdefault(key, []).append(record)
    return list(found.values())


def _scored(record: RunRecord) -> dict[str, list[str]]:
    """The metrics of each split: only runs that were scored alike are summarised together."""
    return {split: plain_metrics(scores) for split, scores in record.scores.items()}


def same_but_seeds(record: RunRecord, records: Iterable[RunRecord]) -> list[RunRecord]:
    """The records that differ from this one only in their seeds."""
    others = [other for other in records if other.id != record.id]
    return groups([record, *others])[0][1:]


def seeds_of(record: RunRecord) -> tuple[int, int]:
    """(init_seed, data_seed) as they applied."""
    init, data = (record.recipe.get(name) for name in SEEDS[1:])
    seed = record.recipe["seed"]
    return (seed if init is None else init, seed if data is None else data)


def seed_words(record: RunRecord) -> str:
    """A run's seed, or the two where they differ."""
    init, data = seeds_of(record)
    return f"seed {init}" if init == data else f"seeds {init} of the head, {data} of the data"


def failed(record: RunRecord, split: str) -> bool | None:
    """Whether a run is no better than a constant prediction (Mosbach et al. 2021, section 3).

    By accuracy where the task has it, else by the headline; None where there is no such baseline.
    """
    metric = "accuracy" if "accuracy" in record.scores[split] else record.headline
    constant = next((given for name, given in record.baselines[split].items() if name in CONSTANT), None)
    rank = record.metric(metric).rank
    return None if constant is None else not rank(record.scores[split][metric]) > rank(constant[metric])


def spread_by_seed(records: Sequence[RunRecord], metric: str, split: str) -> tuple[float, float] | None:
    """Standard deviations over head initialisations and over data orders, each averaged over the other first.

    None unless every one of several initialisations was run with every one of several orders (Dodge et al. 2020).
    """
    scores = {seeds_of(record): record.scores[split][metric] for record in records}
    inits, orders = (sorted({pair[side] for pair in scores}) for side in (0, 1))
    if len(inits) < 2 or len(orders) < 2 or len(scores) != len(inits) * len(orders):
        return None
    by_init = [statistics.fmean(scores[init, order] for order in orders) for init in inits]
    by_order = [statistics.fmean(scores[init, order] for init in inits) for order in orders]
    return statistics.stdev(by_init), statistics.stdev(by_order)


def differing_settings(records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """For each record the settings (dotted keys) in which these records differ, seeds left out."""
    every = [{key: value for key, value in one.items() if key not in SEEDS} for one in applied(records)]
    keys = dict.fromkeys(key for one in every for key in one)
    differ = [key for key in keys if len({str(one.get(key)) for one in every}) > 1]
    return [{key: one[key] for key in differ if key in one} for one in every]
