"""Verdict: whether a run, or runs that differ only in seeds, are worth more than the best baseline, in words."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from finetune.data.messages import noun
from finetune.metrics.metric import Metric
from finetune.metrics.significance import Z, half_over_seeds
from finetune.runs.dev_choices import is_optimistic
from finetune.runs.recipe_diff import applied
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import Margin, ScoreInterval, best_baseline
from finetune.runs.seeds import CONSTANT, FOLDS, failed

Level = Literal["better", "unclear", "worse", "alone"]
WORDS = {
    "tfidf-logistic": "TF-IDF",
    "tfidf-ridge": "TF-IDF",
    "tfidf-similarity": "TF-IDF similarity",
    "linear-probe": "the linear probe",
    "majority": "the majority label",
    "mean": "the mean label",
    "most-frequent-tag": "the most frequent tags",
    "no-answer": "no answer for every row",
    "unigram": "a unigram of tokens",
    "bigram": "a bigram of tokens",
    "best of each fold": "the best baselines",
}
BY_FOLDS = re.compile(r"by \d+ folds of the ")
FEW_ROWS = 50  # at 30, up to 7 % of the intervals of F1 leave out no difference where there is none
FREQUENCIES = "how frequent each token is"
HELP = " (more updates or a higher learning rate may help)"  # of pre-training; else a diagnosis says what does
TOO_FEW_SEEDS = "use 3 or more: of two, an interval is too wide to tell anything"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The headline score of a split against the best baseline.

    `level`: "better" or "worse" if the 95 % interval of the difference leaves zero out, else "unclear"; without an
    interval "worse" if the score is lower; "alone" without a baseline. `judged` is a sentence on the difference, empty
    without a baseline, and `scored` one on the score. `score`, intervals and `difference` (model minus baseline) are in
    units of the score, not times the metric's scale.
    """

    level: Level
    judged: str
    scored: str
    split: str
    metric: Metric
    score: float
    interval: ScoreInterval | None
    baseline: str | None
    difference: float | None
    difference_interval: ScoreInterval | None
    p: float | None

    @property
    def sentence(self) -> str:
        """Both sentences."""
        return f"{self.judged} {self.scored}".lstrip()

    def __str__(self) -> str:
        return self.sentence


def verdict_of(records: Sequence[RunRecord], *, split: str | None = None) -> Verdict:
    """The verdict on one run, or on the mean of several that differ only in seeds or folds; on the test rows if there
    are any, or on those of `split`.

    Over several seeds an interval has the variance of rows and that of seeds net of it (`half_over_seeds`). Mean and
    intervals are of the metric's spacing: perplexities are averaged geometrically.
    """
    first = records[0]
    split = split or ("test" if "test" in first.scores else first.first_split)
    metric = first.metric(first.headline)
    scores = [record.scores[split][metric.name] for record in records]
    score = metric.spacing.mean(scores)
    baseline, against = _baseline(records, split, metric)
    margins = [record.margins.get(split, Margin()) for record in records]
    interval = metric.possible(_rows_and_seeds(metric, scores, margins), around=score)
    difference = apart = None
    if baseline is not None:
        difference = score - metric.spacing.mean(against)
        apart = metric.possible_difference(_apart(metric, scores, margins, against), around=difference)
    p = margins[0].p if len(records) == 1 else None
    level = _level(metric, difference, apart)
    found = Verdict(
        level=level, judged="", scored="", split=split, metric=metric, score=score, interval=interval,
        baseline=baseline, difference=difference, difference_interval=apart, p=p,
    )  # fmt: skip
    judged = "" if baseline is None else _as_sentence(_judged(found, records))
    return replace(found, judged=judged, scored=_as_sentence(_scored(found, records)))


def shortfall(records: Sequence[RunRecord], *, split: str) -> str:
    """That one run, or several that differ only in seeds, are worse than the best baseline or no better than a constant
    prediction, in words; empty where neither is so.
    """
    found = verdict_of(records, split=split)
    words = [_against(found)] if found.level == "worse" else []
    return ", and ".join([*words, *filter(None, [_failures(records, split)])])


def interval_of(records: Sequence[RunRecord], split: str, metric: str) -> ScoreInterval | None:
    """The 95 % interval of a mean over seeds, which the verdict has too; None for metrics other than the headline."""
    return verdict_of(records, split=split).interval if metric == records[0].headline else None


def baseline_words(name: str) -> str:
    """A baseline's name as prose has it."""
    return WORDS.get(name, name)


def _baseline(records: Sequence[RunRecord], split: str, metric: Metric) -> tuple[str | None, list[float]]:
    """The best baseline and its score for each run, which differ between folds; (None, []) without baselines."""
    every = [record.baselines.get(split, {}) for record in records]
    names = [name for given in every if (name := best_baseline(given, metric)) is not None]
    if len(names) < len(every):
        return None, []
    scores = [given[name][metric.name] for given, name in zip(every, names, strict=True)]
    return names[0] if len(set(names)) == 1 else "best of each fold", scores


def _rows_and_seeds(metric: Metric, scores: Sequence[float], margins: Sequence[Margin]) -> ScoreInterval | None:
    """Of one run as its record has it, of several around their mean."""
    if len(margins) == 1:
        return margins[0].interval
    spacing, known = metric.spacing, [each.interval for each in margins if each.interval is not None]
    if len(known) < len(margins):
        return None
    if len(set(scores)) == 1 and not any(one.sketch for one in margins):  # all rows right: one run's is as wide
        return known[0]
    half = _half([spacing.values(ends) for ends in known], spacing.values(scores), [one.sketch for one in margins])
    middle = fmean(spacing.values(scores))
    return spacing.interval((middle - half, middle + half))


def _apart(
    metric: Metric, scores: Sequence[float], margins: Sequence[Margin], against: Sequence[float]
) -> ScoreInterval | None:
    """The same of the difference to the scores of baselines, `against`."""
    if len(margins) == 1:
        return margins[0].difference_interval
    spacing, known = metric.spacing, [each.difference_interval for each in margins]
    ends = [
        [spacing.step(end, base, score) for end in given]
        for given, base, score in zip(known, against, scores, strict=True)
        if given is not None
    ]
    if len(ends) < len(margins):
        return None
    steps = [b - a for a, b in zip(spacing.values(against), spacing.values(scores), strict=True)]
    half, middle = _half(ends, steps, [one.difference_sketch for one in margins]), fmean(steps)
    return spacing.differences((middle - half, middle + half), spacing.mean(against), spacing.mean(scores))


def _half(by_rows: Sequence[Sequence[float]], by_seeds: Sequence[float], sketches: Sequence[str]) -> float:
    """Half an interval of the mean over seeds, from those by rows and the score of each."""
    return half_over_seeds(by_seeds, [(high - low) / 2 / Z for low, high in by_rows], sketches)


def _level(metric: Metric, difference: float | None, interval: ScoreInterval | None) -> Level:
    if difference is None:
        return "alone"
    sign = 1 if metric.greater_is_better else -1
    low, high = sorted(sign * end for end in interval) if interval else (-math.inf, sign * difference)
    if math.isnan(difference) or high < 0:
        return "worse"
    return "better" if low > 0 else "unclear"


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _scored(found: Verdict, records: Sequence[RunRecord]) -> str:
    """`dev accuracy is 64.0 (95 % 59.0 to 69.0)`, and what to know of the rows and seeds behind it."""
    shown = found.metric.shown
    rows = records[0].rows.get(found.split, 0)
    seeds = f", mean of {_so_many(records)}" if len(records) > 1 else ""
    seeds += f" ({TOO_FEW_SEEDS})" if len(records) == 2 else ""
    text = f"{found.split} {found.metric.name} is {shown(found.score)}{_interval(found.metric, found.interval)}{seeds}"
    if found.split == records[0].first_split and is_optimistic(records[0]):
        text += "; optimistic, because these rows also chose the epoch or an option"
    text += f"; {' and '.join(leaks)}, so that it is too high" if (leaks := records[0].leaks(found.split)) else ""
    few = f"; only {rows} {'row' if rows == 1 else 'rows'}{_told_by_folds(records)}"
    return text + (few if 0 < rows < FEW_ROWS else "")


def by_folds(folds: int, rows: int) -> str:
    """The begin of a note on a score by folds, which the verdict repeats where dev has few rows."""
    return f"by {folds} folds of the {rows} training rows"


def _told_by_folds(records: Sequence[RunRecord]) -> str:
    """What a note has of a run's score by folds."""
    notes = records[0].notes if len(records) == 1 else []
    return next((f"; {note}" for note in notes if BY_FOLDS.match(note)), "")


def _so_many(records: Sequence[RunRecord]) -> str:
    """`3 seeds`, `5 folds` or `15 runs of 5 folds`."""
    folds = {str([settings.get(name) for name in FOLDS]) for settings in applied(records)}
    if len(folds) == 1:
        return f"{len(records)} seeds"
    return f"{len(folds)} folds" if len(folds) == len(records) else f"{len(records)} runs of {len(folds)} folds"


def _judged(found: Verdict, records: Sequence[RunRecord]) -> str:
    """`14.0 points better than TF-IDF (95 % 9.0 to 19.1)`, and what follows from it."""
    text, metric = _against(found), found.metric
    failures = _failures(records, found.split)
    if found.baseline in CONSTANT and not records[0].is_pretraining and metric.rank(found.difference or 0) <= 0:
        failures = failures if len(records) > 1 else ""  # the baseline is that prediction
    failures += HELP if failures and records[0].is_pretraining else ""
    if not found.difference or not math.isfinite(found.difference):
        return "; ".join(filter(None, [text, failures]))
    if found.difference_interval is not None:
        text += f" (95 %: {_ends(metric, found.difference_interval)})"
    if found.level == "worse":
        if failures and records[0].is_pretraining:
            return f"{text}, and {failures}"
        return "; ".join(filter(None, [f"{text}, {_advice(records[0])}", failures]))
    doubt = ", which may be chance" if found.level == "unclear" and found.difference_interval else ""
    simpler = ["the baseline is simpler"] * (metric.rank(found.difference) < 0)
    return "; ".join([text + doubt, *simpler, *filter(None, [failures])])


def _against(found: Verdict) -> str:
    """`14.0 points better than TF-IDF`"""
    assert found.baseline is not None and found.difference is not None
    name, metric = baseline_words(found.baseline), found.metric
    if not math.isfinite(found.difference):
        return f"not comparable with {name}, since a score is undefined"
    if not found.difference:
        return f"no better than {name}, which is simpler"
    unit = " points" if metric.scale == 100 else ""
    word = "better" if metric.rank(found.difference) > 0 else "worse"
    return f"{metric.shown(abs(found.difference))}{unit} {word} than {name}"


def _advice(record: RunRecord) -> str:
    """What to do with a run that is worse than a baseline: one on a text has no better one to use instead."""
    better = f"but better than {FREQUENCIES} (more updates or text may help)"
    return better if record.is_pretraining else "do not use it"


def _failures(records: Sequence[RunRecord], split: str) -> str:
    """How many runs are no better than a constant prediction, in words; empty where none is so."""
    count = sum(bool(failed(record, split)) for record in records)
    which = f"{count} of {len(records)} runs {noun(count, 'is', 'are')} " if len(records) > 1 else ""
    constant = FREQUENCIES if records[0].is_pretraining else "a constant prediction"
    return f"{which}no better than {constant}" if count else ""


def _ends(metric: Metric, interval: ScoreInterval) -> str:
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


def _interval(metric: Metric, interval: ScoreInterval | None) -> str:
    """` (95 % 79.6 to 90.1)`; nothing without an interval."""
    return "" if interval is None else f" (95 % {' to '.join(map(metric.shown, interval))})"
