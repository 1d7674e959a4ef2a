"""Verdict: whether a run, or runs that differ only in seeds, are worth more than the best baseline, in one sentence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from finetune.metrics.metric import Metric
from finetune.runs.dev_choices import is_optimistic
from finetune.runs.margin import Interval, Margin, best_baseline
from finetune.runs.record import RunRecord
from finetune.runs.seeds import failed, summarised

Level = Literal["better", "unclear", "worse", "alone"]
WORDS = {
    "tfidf-logistic": "TF-IDF",
    "tfidf-ridge": "TF-IDF",
    "tfidf-similarity": "TF-IDF similarity",
    "majority": "the majority label",
    "mean": "the mean label",
    "most-frequent-tag": "the most frequent tags",
    "no-answer": "no answer for every row",
    "unigram": "a unigram of tokens",
    "bigram": "a bigram of tokens",
}
FEW_ROWS = 30
TOO_FEW_SEEDS = "use 3 or more: of two, an interval is too wide to tell anything"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The headline score of a split against the best baseline.

    `level`: "better" or "worse" if the 95 % interval of the difference leaves zero out, else "unclear"; without an
    interval "worse" if the score is lower; "alone" without a baseline. `score`,
    intervals and `difference` (model minus baseline) are in units of the score, not times the metric's scale.
    """

    level: Level
    sentence: str
    split: str
    metric: Metric
    score: float
    interval: Interval | None
    baseline: str | None
    difference: float | None
    difference_interval: Interval | None
    p: float | None

    def __str__(self) -> str:
        return self.sentence


def verdict_of(records: Sequence[RunRecord]) -> Verdict:
    """The verdict on one run, or on the mean of several that differ only in seeds; on the test rows if there are any.

    Over several seeds an interval has the variance of rows and of seeds; the seeds' is Student's t.
    """
    first = records[0]
    split = "test" if "test" in first.scores else first.first_split
    metric = first.metric(first.headline)
    scores = [record.scores[split][metric.name] for record in records]
    score, baselines = fmean(scores), first.baselines.get(split, {})
    baseline = best_baseline(baselines, metric)
    difference = None if baseline is None else score - baselines[baseline][metric.name]
    margins = [record.margins.get(split, Margin()) for record in records]
    by_seeds = summarised(scores, metric).half
    interval = metric.possible(_around(score, [each.interval for each in margins], by_seeds), around=score)
    apart = None
    if difference is not None:
        apart = _around(difference, [each.difference_interval for each in margins], by_seeds)
        apart = metric.possible_difference(apart, around=difference)
    p = margins[0].p if len(records) == 1 else None
    level = _level(metric, difference, apart)
    found = Verdict(
        level=level, sentence="", split=split, metric=metric, score=score, interval=interval, baseline=baseline,
        difference=difference, difference_interval=apart, p=p,
    )  # fmt: skip
    return Verdict(**(vars(found) | {"sentence": _sentence(found, records)}))


def baseline_words(name: str) -> str:
    """A baseline's name as prose has it."""
    return WORDS.get(name, name)


def _half(interval: Interval) -> float:
    return (interval[1] - interval[0]) / 2


def _around(value: float, by_rows: Sequence[Interval | None], by_seeds: float) -> Interval | None:
    """The interval by rows, for one run as it is; for several, around the mean, and as wide as both together."""
    known = [each for each in by_rows if each is not None]
    if len(known) < len(by_rows):
        return None
    if len(known) == 1:
        return known[0]
    half = math.hypot(fmean(map(_half, known)), by_seeds)
    return value - half, value + half


def _level(metric: Metric, difference: float | None, interval: Interval | None) -> Level:
    if difference is None:
        return "alone"
    sign = 1 if metric.greater_is_better else -1
    low, high = sorted(sign * end for end in interval) if interval else (-math.inf, sign * difference)
    if math.isnan(difference) or high < 0:
        return "worse"
    return "better" if low > 0 else "unclear"


def _sentence(found: Verdict, records: Sequence[RunRecord]) -> str:
    shown, unit = found.metric.shown, " points" if found.metric.scale == 100 else ""
    rows = records[0].rows.get(found.split, 0)
    seeds = f", mean of {len(records)} seeds" if len(records) > 1 else ""
    seeds += f" ({TOO_FEW_SEEDS})" if len(records) == 2 else ""
    text = f"{found.split} {found.metric.name} {shown(found.score)}{_interval(found.metric, found.interval)}{seeds}"
    if found.baseline is not None and found.difference is not None:
        text = f"{_judged(found, unit, records[0])}: {text}"
    if found.split == records[0].first_split and is_optimistic(records[0]):
        text += "; optimistic, because these rows also chose the epoch or an option"
    return text + (f"; only {rows} {'row' if rows == 1 else 'rows'}" if 0 < rows < FEW_ROWS else "")


def _judged(found: Verdict, unit: str, record: RunRecord) -> str:
    """`14.0 points better than TF-IDF (95 % 9.0 to 19.1)`, and what follows from it."""
    assert found.baseline is not None and found.difference is not None
    name, metric = baseline_words(found.baseline), found.metric
    if not math.isfinite(found.difference):
        return f"not comparable with {name}, since a score is undefined"
    if not found.difference:
        return f"no better than {name}, which is simpler"
    worse = (found.difference < 0) == metric.greater_is_better
    text = f"{metric.shown(abs(found.difference))}{unit} {'worse' if worse else 'better'} than {name}"
    if found.difference_interval is not None:
        text += f" (95 %: {_ends(metric, found.difference_interval)})"
    if found.level == "worse":
        return f"{text}, {_advice(record, found.split)}"
    doubt = ", which may be chance" if found.level == "unclear" and found.difference_interval else ""
    return text + doubt + ("; the baseline is simpler" if worse else "")


def _advice(record: RunRecord, split: str) -> str:
    """What to do with a run that is worse than a baseline: one on a text has no better one to use instead."""
    if not record.is_pretraining:
        return "do not use it"
    if failed(record, split):
        return "and no better than how frequent each token is (more updates or a higher learning rate may help)"
    return "but better than how frequent each token is (more updates or text may help)"


def _ends(metric: Metric, interval: Interval) -> str:
    """`+9.0 to +19.1`; where lower is better, `4.1 to 9.3 lower` or `4.1 lower to 9.3 higher`."""
    if metric.greater_is_better:
        return " to ".join(_signed(metric, end) for end in interval)
    near, far = sorted(interval, key=abs) if interval[0] * interval[1] > 0 else interval
    words = ["lower" if end < 0 else "higher" for end in (near, far)]
    first = "" if words[0] == words[1] else f" {words[0]}"
    return f"{metric.shown(abs(near))}{first} to {metric.shown(abs(far))} {words[1]}"


def _signed(metric: Metric, difference: float) -> str:
    """`+9.0`, `-1.5` or `0.0`."""
    shown = metric.signed(difference)
    return shown if shown.strip("+0.") else shown.removeprefix("+")


def _interval(metric: Metric, interval: Interval | None) -> str:
    """` (95 % 79.6 to 90.1)`; nothing without an interval."""
    return "" if interval is None else f" (95 % {' to '.join(map(metric.shown, interval))})"
