"""Runs that differ in their settings, or only in their seeds: mean, spread, confidence interval, failures."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from finetune.data.messages import so_many
from finetune.metrics.metric import Interval, Metric, plain_metrics
from finetune.runs.settings import DEFAULTS, PREFIX, SEEDS, encoder_of, flat, is_run_specific, typed_settings

if TYPE_CHECKING:
    from finetune.runs.record import RunRecord
    from finetune.runs.record_files import ListedRun

Records = Sequence["RunRecord"]
RecordList = list["RunRecord"]
AnyRuns = Sequence["RunRecord | ListedRun"]
NO_SPREAD = 1e-12  # a standard deviation that rounding can cause
FOLDS = ("options.fold",)  # parts of one data set, not settings to choose from
SHARE = "train_share"
CONSTANT = ("majority", "mean", "no-answer", "unigram")  # baselines with a constant prediction
IN_COLUMNS = ("task", "model", *SEEDS)  # settings with a column in a list of runs


def changed_settings(records: Records) -> dict[str, list[Any]]:
    """The values, one a record, of each setting and option of the task that is not at its default in all records."""
    settings = [DEFAULTS | flat(record.recipe) for record in records]
    keys = dict.fromkeys(key for values in settings for key in values if key not in ("task", "options"))
    by_key = {key: [values.get(key) for values in settings] for key in keys}
    return {key: values for key, values in by_key.items() if any(value != DEFAULTS.get(key) for value in values)}


def applied(records: AnyRuns) -> list[dict[str, Any]]:
    """For each record every setting and option (dotted keys) as it applied, without options chosen on dev.

    A setting that an older record lacks has its default. An option that it lacks has the default of other records of
    the same version of the task, if they agree. Keys such as `lineage.task` describe the run that saved its encoder.
    """
    return [DEFAULTS | settings for settings in _recorded(records)]


def _recorded(records: AnyRuns) -> list[dict[str, Any]]:
    """As `applied`, without the defaults of settings that a record lacks."""
    by_default, differs = dict[tuple[str, int], dict[str, Any]](), object()
    options = []  # of each record, that the recipe or the task's declaration set
    for record in records:
        defaults = by_default.setdefault((record.task, record.task_version), {})
        typed = record.recipe.get("options") or {}
        declared = {k: v for k, v in record.options.items() if v is not None and k not in record.chosen}
        for name, value in declared.items():
            if name not in typed:
                defaults[name] = value if defaults.get(name, value) == value else differs
        options.append(declared | typed)
    settings = []
    for record, values in zip(records, options, strict=True):
        defaults = {k: v for k, v in by_default[record.task, record.task_version].items() if v is not differs}
        lineage = record.lineage.flat if record.lineage else {}
        recipe = flat({**record.recipe, "options": {}})
        settings.append(recipe | flat({"options": defaults | values}) | lineage)
    return settings


def short_settings(settings: Mapping[str, Any]) -> list[str]:
    """The settings that are not at their default, by the last part of their names: `learning_rate=0.0002`.

    Settings with a column of their own in a list are left out.
    """
    return typed_settings(
        {
            key.rpartition(".")[2]: value
            for key, value in settings.items()
            if key not in IN_COLUMNS and value is not None and value != DEFAULTS.get(key)
        }
    )


def differing_settings(records: AnyRuns) -> list[dict[str, Any]]:
    """For each record the settings (dotted keys) in which these records differ, seeds left out."""
    settings = _recorded(records)
    recipes = [{key for key in values if not key.startswith(("options.", PREFIX))} for values in settings]
    if any(keys != recipes[0] for keys in recipes):
        settings = applied(records)
    keys = dict.fromkeys(key for values in settings for key in values if key not in SEEDS and not is_run_specific(key))
    differ = [key for key in keys if len({str(values.get(key)) for values in settings}) > 1]
    return [{key: values[key] for key in differ if key in values} for values in settings]


def settings_by_task(runs: AnyRuns) -> list[dict[str, Any]]:
    """For each run the settings in which the runs of its task differ, without its model and seeds."""
    by_task = dict[str, list[Any]]()
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    differing = {task: iter(differing_settings(group)) for task, group in by_task.items()}
    return [{key: value for key, value in next(differing[run.task]).items() if key != "model"} for run in runs]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The mean of scores, their standard deviation, the 95 % interval of the mean (Student's t), and the best score.

    The interval has only possible scores; `half` is half its width without that limit, 0 without an interval. Mean and
    interval are of the metric's spacing: geometric for perplexities.

    Statistics of several scores are None for a single score, and if a score is NaN, as the mean is then. Equal scores
    have no interval: they do not show that the next score is the same.
    """

    n: int
    mean: float
    best: float
    sd: float | None = None
    interval: Interval | None = None
    half: float = 0.0


def summarised(scores: Sequence[float], metric: Metric) -> Summary:
    """The summary of at least one score of a metric."""
    spacing, mean = metric.spacing, metric.spacing.mean(scores)
    half, interval = _student(spacing.values(scores))
    return Summary(
        n=len(scores), mean=mean, best=max(scores, key=metric.rank), sd=_deviation(scores),
        interval=metric.possible(spacing.interval(interval), around=mean), half=spacing.difference(half, mean, mean),
    )  # fmt: skip


def paired(pairs: Sequence[tuple[float, float]], metric: Metric) -> Summary:
    """The summary of second minus first score of pairs, such as two runs of one seed.

    `half` is the least difference that the pairs distinguish from zero: Student's t times sd / sqrt(n).
    """
    spacing, sides = metric.spacing, [*zip(*pairs, strict=True)]
    differences = [second - first for first, second in pairs]
    steps = [second - first for first, second in zip(*map(spacing.values, sides), strict=True)]
    (half, interval), (a, b) = _student(steps), map(spacing.mean, sides)
    mean = spacing.difference(math.fsum(steps) / len(steps), a, b)
    return Summary(
        n=len(pairs), mean=mean, best=max(differences, key=metric.rank), sd=_deviation(differences),
        interval=metric.possible_difference(spacing.differences(interval, a, b), around=mean),
        half=spacing.difference(half, a, b),
    )  # fmt: skip


def _student(values: Sequence[float]) -> tuple[float, Interval | None]:
    """Half the width of the 95 % interval of the mean (Student's t), and the interval; 0 and None without spread."""
    n, sd = len(values), _deviation(values)
    if sd is None or sd < NO_SPREAD:
        return 0.0, None
    from scipy.special import stdtrit  # in half the time that scipy.stats takes to import

    mean, half = math.fsum(values) / n, float(stdtrit(n - 1, 0.975)) * sd / math.sqrt(n)
    return half, (mean - half, mean + half)


def _deviation(values: Sequence[float]) -> float | None:
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return None
    from statistics import stdev  # imported when used: it takes longer than reading 100 records

    return stdev(values)


def groups(records: Iterable["RunRecord"], *, over: Sequence[str] = ()) -> list[RecordList]:
    """Groups records that differ only in their seeds; groups and runs keep their order.

    Encoders of earlier runs count as equal if these runs differ only in their seeds too. `over` are further settings
    (dotted keys) in which runs of a group may differ. With an option of the task among them their rows may differ too.
    """
    records, by_facts = list(records), dict[str, RecordList]()
    ignored = {*SEEDS, *over, "model"}
    for record, settings in zip(records, applied(records), strict=True):
        equal = {key: value for key, value in settings.items() if key not in ignored and not key.startswith(PREFIX)}
        encoder = encoder_of(record.model, record.weights, settings.get("tokenizer"))
        lineage = encoder if record.lineage is None else record.lineage.settings_without_seeds
        scored = {split: plain_metrics(scores) for split, scores in record.scores.items()}
        data = None if any(key.startswith("options.") and key in settings for key in over) else record.data
        facts = [record.task, record.task_version, lineage, record.precision, equal, scored, data]
        by_facts.setdefault(json.dumps(facts, sort_keys=True), []).append(record)
    return list(by_facts.values())


def by_setting(records: Iterable["RunRecord"]) -> list[RecordList]:
    """`groups`, with the folds of a cross-validation in one group: they have one setting, and other rows each."""
    return groups(records, over=FOLDS)


def same_but_seeds(record: "RunRecord", records: Iterable["RunRecord"]) -> RecordList:
    """The records that differ from this one only in their seeds."""
    return groups([record, *(other for other in records if other.id != record.id)])[0][1:]


def seed_words(record: "RunRecord") -> str:
    """A run's seed, or both seeds if they differ."""
    seed, *others = (record.recipe.get(name) for name in SEEDS)
    init, data = (seed if other is None else other for other in others)
    return f"seed {init}" if init == data else f"seeds {init} of the head, {data} of the data"


def failed(record: "RunRecord", split: str) -> bool | None:
    """Whether a run is no better than a constant prediction (Mosbach et al. 2021, section 3); None without a baseline.

    The constant is the most frequent label of train or of the split. It is compared by accuracy if the task has it,
    else by the headline.
    """
    metric = "accuracy" if "accuracy" in record.scores[split] else record.headline
    constants = [scores[metric] for name, scores in record.baselines.get(split, {}).items() if name in CONSTANT][:1]
    if not constants:
        return None
    counts, rows, rank = record.labels.get(split, {}).values(), record.rows.get(split, 0), record.metric(metric).rank
    if metric == "accuracy" and rows and sum(counts) == rows:
        constants.append(max(counts) / rows)
    return not rank(record.scores[split][metric]) > max(map(rank, constants))


def failures(records: Records, split: str) -> int | None:
    """The number of runs that `failed`; None without a constant baseline, and without runs."""
    fails = [failed(record, split) for record in records]
    return None if not fails or None in fails else sum(map(bool, fails))


def mean_score(records: Records, split: str, name: str) -> float:
    """The mean of a metric's scores, on its spacing."""
    return records[0].metric(name).spacing.mean([record.scores[split][name] for record in records])


def shared_encoders(records: Records) -> str:
    """A note on runs that share encoders of earlier runs: an interval over them covers too little. May be empty."""
    encoders = {record.lineage.run for record in records if record.lineage is not None}
    count = len(encoders)
    if count in (0, len(records)):
        return ""
    which, trained = f"encoders of {count} runs", f"their training by {count} seeds only"
    if count == 1:
        which, trained = f"the encoder of run {next(iter(encoders))}", "its training"
    return f"{so_many(len(records), 'run')} start from {which}: an interval over them does not cover {trained}"


def exact_percent(share: float) -> str:
    """`12.5%`"""
    return f"{100 * share:.6g}%"


def by_share(records: Records) -> list[dict[float, RecordList]]:
    """The runs of each setting that was run with several shares of the same rows, by share, smallest first."""
    share = attrgetter(SHARE)
    curves = [
        {size: [*runs] for size, runs in groupby(sorted(group, key=share), key=share)}
        for group in groups(records, over=[SHARE])
    ]
    return [curve for curve in curves if len(curve) > 1]


def of_largest_sizes(records: Records) -> RecordList:
    """The records of the largest size of the data: smaller sizes do not show which setting is best."""
    smaller = {record.id for sizes in by_share(records) for share in list(sizes)[:-1] for record in sizes[share]}
    return [record for record in records if record.id not in smaller]


def best_group(records: Records) -> RecordList:
    """The runs of the setting with the best mean headline score over its seeds and folds, on the first split.

    Only the largest size of the data takes part. An undefined mean is the worst; the first of equal settings is taken.
    """

    def rank(group: Records) -> float:
        first = group[0]
        return first.metric(first.headline).rank(mean_score(group, first.first_split, first.headline))

    return max(by_setting(of_largest_sizes(records)), key=rank)


def best_by_task(
    records: Records,
) -> list[tuple[str, list[RecordList], RecordList, dict[str, Any]]]:
    """(task, its runs by setting, the best of these groups, the settings in which it differs from others) of each task.

    Only the largest size of the data takes part.
    """
    largest, bests = of_largest_sizes(records), []
    for task in dict.fromkeys(record.task for record in records):
        groups = by_setting(record for record in largest if record.task == task)
        best = best_group([record for group in groups for record in group])
        bests.append((task, groups, best, differing_settings([group[0] for group in groups])[groups.index(best)]))
    return bests


def best_run(records: Records) -> "RunRecord":
    """The run of the best setting (and of its first fold) with the best headline score on the first split."""
    return max(groups(best_group(records))[0], key=lambda record: record.metric(record.headline).rank(record.score))
