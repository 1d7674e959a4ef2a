"""Scores as pure functions of gold and answers, with a perfect score at 1; GLUE's are those of Wang et al. 2018."""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Scores = dict[str, dict[str, float]]  # split (or method) -> metric -> score
Metric = Callable[[Sequence[Any], Sequence[Any]], float]
LabelScores = dict[str, tuple[float, float, float]]  # label -> its scores in the order of PARTS
PARTS = ("precision", "recall", "f1")


def ranked(score: float) -> float:
    """A score to choose the best by: one that is not a number is the worst there is."""
    return -math.inf if math.isnan(score) else score


def accuracy(gold: Sequence[Any], answers: Sequence[Any]) -> float:
    """Share of answers that equal the gold."""
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(gold, answers))


@dataclass(frozen=True)
class F1Of:
    """F1 of one class, as GLUE scores MRPC and QQP: 0 when nothing was found."""

    positive: str

    def __call__(self, gold: Sequence[Any], answers: Sequence[Any]) -> float:
        from sklearn.metrics import f1_score

        hits = [[value == self.positive for value in values] for values in (gold, answers)]
        return float(f1_score(*hits, zero_division=0))


def macro_f1(gold: Sequence[Any], answers: Sequence[Any]) -> float:
    """Mean F1 of the labels that occur in gold or answers, each counting alike."""
    from sklearn.metrics import f1_score

    return float(f1_score(gold, answers, average="macro", zero_division=0))


def label_scores(gold: Sequence[str], answers: Sequence[str], labels: Sequence[str]) -> LabelScores:
    """(precision, recall, F1) of each label, where a row has one; 0 where there is nothing to divide by."""
    right = Counter(label for label, given in zip(gold, answers, strict=True) if label == given)
    return _by_label(labels, right, Counter(answers), Counter(gold))


@dataclass(frozen=True)
class ClassScore:
    """One label's precision, recall or f1, whichever `part` names."""

    label: str
    part: str

    def __call__(self, gold: Sequence[Any], answers: Sequence[Any]) -> float:
        return label_scores(gold, answers, [self.label])[self.label][PARTS.index(self.part)]


def label_set_scores(
    gold: Sequence[Collection[str]], answers: Sequence[Collection[str]], labels: Sequence[str]
) -> LabelScores:
    """(precision, recall, F1) of each label, where a row has any number; 0 where there is nothing to divide by."""
    return _by_label(labels, *_counts(gold, answers))


def micro_f1_of_sets(gold: Sequence[Collection[str]], answers: Sequence[Collection[str]]) -> float:
    """F1 over all labels of all rows together; 1 where neither side has any."""
    right, given, there = (counts.total() for counts in _counts(gold, answers))
    return precision_recall_f1(right, given, there)[2] if given or there else 1.0


def macro_f1_of_sets(gold: Sequence[Collection[str]], answers: Sequence[Collection[str]]) -> float:
    """Mean F1 of the labels that occur in gold or answers; 1 where none does."""
    _, given, there = _counts(gold, answers)
    scores = label_set_scores(gold, answers, sorted({*given, *there})).values()
    return sum(f1 for _, _, f1 in scores) / len(scores) if scores else 1.0


def exact_match_of_sets(gold: Sequence[Collection[str]], answers: Sequence[Collection[str]]) -> float:
    """Share of rows whose labels are all right, and none is missing."""
    return sum(set(a) == set(b) for a, b in zip(gold, answers, strict=True)) / len(gold)


def precision_recall_f1(right: int, given: int, there: int) -> tuple[float, float, float]:
    """From how many are right, how many were given, and how many are there; 0 where there is nothing to divide by."""
    precision, recall = right / given if given else 0.0, right / there if there else 0.0
    return precision, recall, 2 * right / (given + there) if given + there else 0.0


def matthews(gold: Sequence[Any], answers: Sequence[Any]) -> float:
    """Matthews correlation, -1 to 1; 0 when all answers are one class."""
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(gold, answers))


def pearson(gold: Sequence[float], answers: Sequence[float]) -> float:
    """Pearson correlation, -1 to 1; 0 where one side is constant or not finite, which leaves it undefined."""
    from scipy.stats import pearsonr

    return _correlation(pearsonr, gold, answers)


def spearman(gold: Sequence[float], answers: Sequence[float]) -> float:
    """Spearman rank correlation with mean ranks for ties, -1 to 1; 0 as for `pearson`."""
    from scipy.stats import spearmanr

    return _correlation(spearmanr, gold, answers)


def _correlation(function: Callable[..., Any], gold: Sequence[float], answers: Sequence[float]) -> float:
    if len(set(gold)) < 2 or len(set(answers)) < 2 or not all(map(math.isfinite, answers)):
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of near-constant input, which training can pass through
        found = float(function(gold, answers).statistic)
    return 0.0 if math.isnan(found) else found


def _by_label(labels: Sequence[str], right: Counter[str], given: Counter[str], there: Counter[str]) -> LabelScores:
    return {label: precision_recall_f1(right[label], given[label], there[label]) for label in labels}


def _counts(
    gold: Sequence[Collection[str]], answers: Sequence[Collection[str]]
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """How often each label is right, how often it was given, and how often it is there."""
    right: Counter[str] = Counter()
    given: Counter[str] = Counter()
    there: Counter[str] = Counter()
    for expected, answered in zip(gold, answers, strict=True):
        right.update(set(expected) & set(answered))
        given.update(set(answered))
        there.update(set(expected))
    return right, given, there


def plain_metrics(names: Iterable[str]) -> list[str]:
    """Those that are not of a group, such as `PER/f1`."""
    return [name for name in names if "/" not in name]
