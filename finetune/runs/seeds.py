"""Statistics over runs that differ only in their seeds: mean, spread, confidence interval, failures."""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.metrics.spacing import Interval
from finetune.runs.lineage import PREFIX, SEEDS, encoder_of, of_one_run
from finetune.runs.recipe_diff import applied
from finetune.runs.record import RunRecord

NO_SPREAD = 1e-12  # a standard deviation that rounding can cause
FOLDS = ("options.fold",)  # parts of one data set, which are no settings to choose from
CONSTANT = ("majority", "mean", "no-answer", "unigram")  # baselines with a constant prediction


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The mean of some scores, their standard deviation, 95 % interval of the mean (Student's t), and best.

    The interval has only possible scores; `half` is half its width without that limit, 0 where there is none. Mean and
    interval are of the metric's spacing: those of perplexities are geometric.

    Statistics of several scores are None for a single one, and where one is NaN, as the mean is then. Equal
    scores have no interval: they do not show that the next is the same.
    """

    n: int
    mean: float
    best: float
    sd: float | None = None
    interval: Interval | None = None
    half: float = 0.0


def summarised(scores: Sequence[float], metric: Metric) -> Summary:
    """The summary of at least one score of a metric."""
    spacing = metric.spacing
    ends, half = _students(spacing.values(scores))
    found = spacing.mean(scores)
    return Summary(
        n=len(scores), mean=found, best=max(scores, key=metric.rank), sd=_deviation(scores),
        interval=metric.possible(spacing.interval(ends), around=found), half=spacing.difference(half, found, found),
    )  # fmt: skip


def paired(pairs: Sequence[tuple[float, float]], metric: Metric) -> Summary:
    """The summary of second minus first score of some pairs, such as of runs of one seed.

    `half` is the least difference that they can tell from none: Student's t times sd / sqrt(n).
    """
    spacing, differences = metric.spacing, [second - first for first, second in pairs]
    before, after = (spacing.values(side) for side in zip(*pairs, strict=True))
    steps = [y - x for x, y in zip(before, after, strict=True)]
    ends, half = _students(steps)
    a, b = (spacing.mean(side) for side in zip(*pairs, strict=True))
    found = spacing.difference(statistics.fmean(steps), a, b)
    return Summary(
        n=len(pairs), mean=found, best=max(differences, key=metric.rank), sd=_deviation(differences),
        interval=metric.possible_difference(spacing.differences(ends, a, b), around=found),
        half=spacing.difference(half, a, b),
    )  # fmt: skip


def half_of(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of the mean (Student's t); 0 where there is none."""
    n = len(values)
    if (sd := _deviation(values)) is None or sd < NO_SPREAD:
        return 0.0
    from scipy.special import stdtrit  # Student's t, in half the time that scipy.stats takes to import

    return float(stdtrit(n - 1, 0.975)) * sd / math.sqrt(n)


def _students(values: Sequence[float]) -> tuple[Interval | None, float]:
    """The 95 % interval of the mean (Student's t), and half its width."""
    mean, half = statistics.fmean(values), half_of(values)
    return (mean - half, mean + half) if half else None, half


def _deviation(values: Sequence[float]) -> float | None:
    """The standard deviation; None of a single value, and where one is not finite."""
    return statistics.stdev(values) if len(values) > 1 and all(map(math.isfinite, values)) else None


def groups(records: Iterable[RunRecord], *, over: Sequence[str] = ()) -> list[list[RunRecord]]:
    """Groups records that differ only in their seeds; groups and runs keep their order.

    Encoders of earlier runs count as equal where these runs differ only in their seeds too.

    `over` are further settings (dotted keys) that runs of a group may differ in; with an option of the task in their
    rows too.
    """
    every = list(records)
    found: dict[str, list[RunRecord]] = {}
    for record, settings in zip(every, applied(every), strict=True):
        left = (*SEEDS, *over, "model")
        kept = {key: value for key, value in settings.items() if key not in left and not key.startswith(PREFIX)}
        encoder = encoder_of(record.model, record.weights, settings.get("tokenizer"))
        began = encoder if record.lineage is None else record.lineage.but_seeds
        facts = [record.task, record.task_version, began, record.precision, kept, _scored(record)]
        reads = any(key in settings for key in over if key.startswith("options."))
        key = json.dumps([*facts, None if reads else record.data], sort_keys=True)
        found.setdefault(key, []).append(record)
    return list(found.values())


def by_setting(records: Iterable[RunRecord]) -> list[list[RunRecord]]:
    """As `groups`, with the folds of a cross-validation together: their runs are of one setting, on other rows each."""
    return groups(records, over=FOLDS)


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


def same_seeds(a: Sequence[RunRecord], b: Sequence[RunRecord]) -> list[tuple[int, int]]:
    """The indexes in both groups of runs with the same seeds, those of the runs that made their encoders included.

    Empty where runs of a group share an encoder, since pairs are not independent then.
    """
    if shared_encoders(a) or shared_encoders(b):
        return []
    places = {seeds_of(record): index for index, record in enumerate(b)}
    found = [(i, places[seeds]) for i, seeds in enumerate(map(seeds_of, a)) if seeds in places]
    return [(i, j) for i, j in found if _seeds_fit(a[i], b[j])]


def _seeds_fit(a: RunRecord, b: RunRecord) -> bool:
    return a.lineage is None or b.lineage is None or a.lineage.seed == b.lineage.seed


def failed(record: RunRecord, split: str) -> bool | None:
    """Whether a run is no better than a constant prediction (Mosbach et al. 2021, section 3).

    The constant is the most frequent label, of train or of the split.

    By accuracy where the task has it, else by the headline; None where there is no such baseline.
    """
    metric = "accuracy" if "accuracy" in record.scores[split] else record.headline
    constant = next((given for name, given in record.baselines.get(split, {}).items() if name in CONSTANT), None)
    rank = record.metric(metric).rank
    if constant is None:
        return None
    labels, rows, score = record.labels.get(split, {}), record.rows.get(split, 0), record.scores[split][metric]
    one = (
        max(labels.values()) / rows
        if metric == "accuracy" and rows and sum(labels.values()) == rows
        else constant[metric]
    )
    return not rank(score) > max(rank(constant[metric]), rank(one))


def differing_settings(records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """For each record the settings (dotted keys) in which these records differ, seeds left out."""
    every = [
        {key: value for key, value in one.items() if key not in SEEDS and not of_one_run(key)}
        for one in applied(records)
    ]
    keys = dict.fromkeys(key for one in every for key in one)
    differ = [key for key in keys if len({str(one.get(key)) for one in every}) > 1]
    return [{key: one[key] for key in differ if key in one} for one in every]


def shared_encoders(records: Sequence[RunRecord]) -> str:
    """A note where runs share encoders of earlier runs, so that an interval over them covers too little; else empty."""
    runs = {record.lineage.run for record in records if record.lineage is not None}
    if not runs or len(runs) == len(records):
        return ""
    which = f"the encoder of run {next(iter(runs))}" if len(runs) == 1 else f"encoders of {len(runs)} runs"
    trained = "its training" if len(runs) == 1 else f"their training by {len(runs)} seeds only"
    return f"{so_many(len(records), 'run')} start from {which}: an interval over them does not cover {trained}"
