"""Verdict: whether a run, or runs that differ only in seeds, are worth more than the best baseline, in words."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from finetune.data.messages import noun
from finetune.data.paths import is_file
from finetune.metrics.metric import Metric
from finetune.runs.record import Margin, RunRecord, ScoreInterval, best_baseline
from finetune.runs.seeds import CONSTANT, FOLDS, applied, failed

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
OWN_DATA = ("shape", "text", "label")  # options that only user data has
BY_FOLDS = re.compile(r"by \d+ folds of the ")
FEW_ROWS = 50  # at 30, up to 7 % of the intervals of F1 leave out zero though there is no difference
TOO_FEW_SEEDS = "use 3 or more: of two, an interval is too wide to tell anything"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The headline score of a split, the mean of `records`, against the best baseline.

    `level`: "better" or "worse" if the 95 % interval of the difference leaves zero out, else "unclear". Without an
    interval it is "worse" if the score is lower, without a baseline "alone". `score`, intervals and `difference` (model
    minus baseline) are in units of the score, not times the metric's scale. `p` tests the difference of a single run.
    """

    records: Sequence[RunRecord]
    split: str
    metric: Metric
    score: float
    interval: ScoreInterval | None
    baseline: str | None
    difference: float | None
    difference_interval: ScoreInterval | None
    p: float | None

    @property
    def level(self) -> Level:
        """The meaning of the difference."""
        difference, interval = self.difference, self.difference_interval
        if difference is None:
            return "alone"
        better = self.metric.towards_better
        low, high = sorted(map(better, interval)) if interval else (-math.inf, better(difference))
        if math.isnan(difference) or high < 0:
            return "worse"
        return "better" if low > 0 else "unclear"

    @property
    def of(self) -> str:
        """`dev macro f1`."""
        return f"{self.split} {self.metric.name}"

    @property
    def baseline_score(self) -> float | None:
        """The best baseline's score; None without a baseline."""
        return None if self.difference is None else self.score - self.difference

    @property
    def judged(self) -> str:
        """A sentence on the difference; empty without a baseline."""
        return _sentences(self)[0]

    @property
    def scored(self) -> str:
        """A sentence on the score."""
        return _sentences(self)[1]

    @property
    def sentence(self) -> str:
        """Both sentences."""
        return " ".join(filter(None, _sentences(self)))

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<Verdict {self.level}: {self.sentence}>"


def verdict_of(records: Sequence[RunRecord], *, split: str | None = None) -> Verdict:
    """The verdict on one run, or on the mean of several that differ only in seeds or folds.

    Default of `split`: the test rows if there are any, else the first split. Over several seeds an interval has the
    variance of rows, and the variance of seeds net of it (`half_over_seeds`). Mean and intervals are of the metric's
    spacing: perplexities are averaged geometrically.
    """
    first, several = records[0], len(records) > 1
    split = split or ("test" if "test" in first.scores else first.first_split)
    metric = first.metric(first.headline)
    spacing, scores = metric.spacing, [record.scores[split][metric.name] for record in records]
    values, score = spacing.values(scores), spacing.mean(scores)
    margins = [record.margins.get(split, Margin()) for record in records]
    interval, sketches = margins[0].interval, [margin.sketch for margin in margins]
    if several and (any(sketches) or len(set(scores)) > 1):  # else all rows are right: one run's is as wide
        ends = [margin.interval and spacing.values(margin.interval) for margin in margins]
        interval = spacing.interval(_over_seeds(ends, values, sketches))
    names = [best_baseline(record.baselines.get(split, {}), metric) for record in records]
    baseline = difference = difference_interval = None
    if None not in names:
        baseline = names[0] if len({*names}) == 1 else "best of each fold"
        against = [
            record.baselines[split][name][metric.name] for record, name in zip(records, names, strict=True) if name
        ]
        baseline_score, difference_interval = spacing.mean(against), margins[0].difference_interval
        difference = score - baseline_score
        if several:
            steps = [value - base for base, value in zip(spacing.values(against), values, strict=True)]
            ends = [
                margin.difference_interval
                and [spacing.step(end, base, own_score) for end in margin.difference_interval]
                for margin, base, own_score in zip(margins, against, scores, strict=True)
            ]
            over_seeds = _over_seeds(ends, steps, [margin.difference_sketch for margin in margins])
            difference_interval = spacing.differences(over_seeds, baseline_score, score)
        difference_interval = metric.possible_difference(difference_interval, around=difference)
    return Verdict(
        records=records, split=split, metric=metric, score=score, interval=metric.possible(interval, around=score),
        baseline=baseline, difference=difference, difference_interval=difference_interval,
        p=None if several else margins[0].p,
    )  # fmt: skip


def _over_seeds(
    ends: Sequence[Sequence[float] | None], values: Sequence[float], sketches: Sequence[str]
) -> ScoreInterval | None:
    """The interval of a mean over seeds, from the `ends` by rows and the value of each run; None if one is missing."""
    from finetune.metrics.significance import Z, half_over_seeds  # with numpy

    halves = [(high - low) / 2 / Z for low, high in filter(None, ends)]
    if len(halves) < len(values):
        return None
    half, middle = half_over_seeds(values, halves, sketches), fmean(values)
    return middle - half, middle + half


def _sentences(verdict: Verdict) -> tuple[str, str]:
    """(`14.0 points better than TF-IDF (95 %: +9.0 to +19.1).`, `Dev accuracy is 64.0 (95 % 59.0 to 69.0).`).

    The first has the consequence of the difference, and is empty without a baseline. The second has what limits the
    score: few rows or seeds, choices by these rows, leaks.
    """
    records, split, metric, first = verdict.records, verdict.split, verdict.metric, verdict.records[0]
    difference, count = verdict.difference, len(records)
    judged = [_compared(verdict)]
    if difference and math.isfinite(difference):
        if verdict.difference_interval is not None:
            judged[0] += f" (95 %: {metric.signed_ends(verdict.difference_interval)})"
        if verdict.level == "worse":
            judged[0] += "" if first.is_pretraining else ", do not use it"  # of a text nothing else can be used
        elif verdict.level == "unclear":
            judged[0] += ", which may be chance" if verdict.difference_interval else ""
            judged += ["the baseline is simpler"] * (metric.rank(difference) < 0)
    # one run's baseline may be that constant prediction
    is_constant = count == 1 and verdict.baseline in CONSTANT and metric.rank(difference or 0.0) <= 0
    judged += [] if first.is_pretraining or is_constant else [_collapsed(records, split)]

    scored = f"{verdict.of} is {metric.shown(verdict.score)}"
    scored += f" (95 % {metric.ends(verdict.interval)})" if verdict.interval else ""
    if count > 1:
        folds = len({str([settings.get(name) for name in FOLDS]) for settings in applied(records)})
        runs = f"{folds} folds" if folds == count else f"{count} runs of {folds} folds"
        scored += f", mean of {runs if folds > 1 else f'{count} seeds'}"
    scored += f" ({TOO_FEW_SEEDS})" if count == 2 else ""
    if split == first.first_split and chosen_by_scored(first):
        scored += "; optimistic, because these rows also chose the epoch or an option"
    scored += f"; {' and '.join(leaks)}, so that it is too high" if (leaks := first.leaks(split)) else ""
    if 0 < (rows := first.rows.get(split, 0)) < FEW_ROWS:
        notes = [note for note in first.notes if BY_FOLDS.match(note)] if count == 1 else []
        scored += "; ".join([f"; only {rows} {noun(rows, 'row')}", *notes[:1]])
    judged_sentence = _sentence("; ".join(filter(None, judged))) if verdict.baseline else ""
    return judged_sentence, _sentence(scored)


def _sentence(text: str) -> str:
    return text and f"{text[0].upper()}{text[1:]}."


def _compared(verdict: Verdict) -> str:
    """`14.0 points better than TF-IDF`; empty without a baseline."""
    name, metric, difference = baseline_words(verdict.baseline or ""), verdict.metric, verdict.difference
    if difference is None:
        return ""
    if not math.isfinite(difference):
        return f"not comparable with {name}, since a score is undefined"
    if not difference:
        return f"no better than {name}, which is simpler"
    unit = " points" if metric.scale == 100 else ""
    return f"{metric.shown(abs(difference))}{unit} {'better' if metric.rank(difference) > 0 else 'worse'} than {name}"


def _collapsed(records: Sequence[RunRecord], split: str) -> str:
    count = sum(bool(failed(record, split)) for record in records)
    which = f"{count} of {len(records)} runs {noun(count, 'is', 'are')} " if len(records) > 1 else ""
    return f"{which}no better than a constant prediction" if count else ""


def shortfall(records: Sequence[RunRecord], *, split: str) -> str:
    """How runs that differ only in seeds fail, in words: worse than the best baseline, no better than a constant
    prediction, or both; empty if they do not.
    """
    verdict = verdict_of(records, split=split)
    worse = _compared(verdict) if verdict.level == "worse" else ""
    return ", and ".join(filter(None, (worse, _collapsed(records, split))))


def interval_of(records: Sequence[RunRecord], split: str, metric: str) -> ScoreInterval | None:
    """The 95 % interval of a mean over seeds, as in the verdict; None for metrics other than the headline."""
    return verdict_of(records, split=split).interval if metric == records[0].headline else None


def baseline_words(name: str) -> str:
    """A baseline's name in a sentence."""
    return WORDS.get(name, name)


def by_folds(folds: int, rows: int) -> str:
    """The beginning of a note on a score by folds, which the verdict repeats if dev has few rows."""
    return f"by {folds} folds of the {rows} training rows"


def dev_choices(record: RunRecord) -> list[str]:
    """Sentences on options that were chosen on the scored rows, and on options chosen on other rows."""
    split, *others = record.scores
    options, sentences = _options(record), []
    if record.cross_fitted and options:
        plural = len(options) > 1 or options[0].endswith("s")  # such as `thresholds`
        were, those = ("were", "those") if plural else ("was", "that")
        sentences.append(
            f"{split}: the {' and '.join(options)} for each row, of the baselines too, {were} chosen on other rows of "
            f"{split}; the saved model has {those} chosen on all"
        )
    if chosen := chosen_by_scored(record):
        sentences.append(f"{split} chose {chosen}, so that its scores are optimistic{_unbiased(record, others)}")
    return sentences


def chosen_by_scored(record: RunRecord) -> str:
    """The epoch and options that the rows of dev chose, and are predicted with, in words; may be empty."""
    return " and ".join(_epoch(record)) if record.cross_fitted else chosen_for_model(record)


def known_to_model(record: RunRecord) -> str:
    """Why the saved model knows rows that it is scored on, in words; may be empty."""
    split = record.first_split
    warning = f"the saved model has learned the rows of {split} too, after these predictions"
    return warning if split in record.learned else ""


def chosen_for_model(record: RunRecord) -> str:
    """The epoch and options of the saved model, chosen on all of dev, in words; may be empty."""
    return " and ".join((*_epoch(record), *_options(record)))


def _options(record: RunRecord) -> list[str]:
    typed = record.recipe.get("options") or {}
    return [name for name in record.chosen if record.options.get(name) is not None and name not in typed]


def _epoch(record: RunRecord) -> list[str]:
    """The best of several epochs or parts, or the one at which early stopping ended training."""
    train, count = record.recipe.get("train", {}), len(record.epochs)
    part, planned = record.parts
    if train.get("solver") == "logistic":  # fitted once
        return []
    if train.get("select", "last") == "best" and count > 1:
        return [f"{part} {record.selected_epoch} of {count}"]
    return [f"the number of {part}s"] if 0 < count < planned else []


def _unbiased(record: RunRecord, others: list[str]) -> str:
    if others:
        unseen = [split for split in others if not record.leaks(split)]
        return f"; those of {' and '.join(unseen)} are not" if unseen else ""
    if record.is_pretraining:
        return f"; finetune evaluate {record.id} FILE scores documents that chose nothing"
    options = record.recipe.get("options") or {}
    is_own_data = any(name in options for name in OWN_DATA) or is_file(str(record.recipe["task"]))
    return "; test=FILE scores rows that chose nothing" if is_own_data else ""
