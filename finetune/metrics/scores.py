"""Metrics as pure functions of labels (`gold`) and predictions (`answers`); 1 is perfect. GLUE's: Wang et al. 2018."""

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from finetune.metrics.metric import Counted, Metric, Scores, plain_metrics
from finetune.metrics.sums import macro_f1_counted, mean_counted, one_hot, part_counted, ratio


def _accuracy_sums(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """Share of predictions that equal the label."""
    return mean_counted([a == b for a, b in zip(gold, answers, strict=True)])


def _f1_from_sums(gold: Sequence[float], answers: Sequence[float], *, threshold: float) -> Counted:
    return _class_sums(*([value >= threshold for value in values] for values in (gold, answers)), label=True, part="f1")


def _macro_f1_sums(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """Unweighted mean F1 of the classes that occur in labels or predictions; 0 where no row has a label."""
    there, given = one_hot(gold, answers)
    return macro_f1_counted(there * given, given, there, none=0.0)


def _class_sums(gold: Sequence[Any], answers: Sequence[Any], *, label: Any, part: str) -> Counted:
    """Precision, recall or f1 of one label, whichever `part` names."""
    return part_counted(part, *_hits(gold, answers, label))


def _hits(gold: Sequence[Any], answers: Sequence[Any], label: Any) -> tuple[Any, Any, Any]:
    there, given = (np.array([value == label for value in values]) for values in (gold, answers))
    return there & given, given, there


def precision_recall_f1(right: int, given: int, there: int) -> tuple[float, float, float]:
    """From the numbers of right, predicted (`given`) and true (`there`) items; 0 where the denominator is 0."""
    precision, recall = right / given if given else 0.0, right / there if there else 0.0
    return precision, recall, 2 * right / (given + there) if given + there else 0.0


def _matthews_sums(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """Matthews correlation of any number of classes (Gorodkin 2004), from how often each is there, was given, and both
    agree: -1 to 1; 0 when all predictions are one class.
    """
    there, given = one_hot(gold, answers)
    right = (there * given).sum(1)

    def value(sums: np.ndarray) -> np.ndarray:
        rows, hits = sums[..., 0], sums[..., 1]
        t, p = np.split(sums[..., 2:], 2, axis=-1)
        above = hits * rows - (t * p).sum(-1)
        return ratio(above, np.sqrt((rows**2 - (p**2).sum(-1)) * (rows**2 - (t**2).sum(-1))))

    return Counted(counts=np.column_stack([np.ones(len(right)), right, there, given]), value=value)


def _pearson(gold: Sequence[float], answers: Sequence[float]) -> float:
    """Pearson correlation, -1 to 1; 0 where one side is constant or not finite, which leaves it undefined."""
    from scipy.stats import pearsonr

    return _correlation(pearsonr, gold, answers)


def _pearson_sums(gold: Sequence[float], answers: Sequence[float]) -> Counted:
    """Pearson correlation; 0 where one side is constant or not finite."""
    given = answers if np.isfinite(answers).all() else np.zeros(len(answers))  # constant, so that the value is 0
    x, y = (np.asarray(values, dtype=float) - np.mean(values) for values in (gold, given))

    def value(sums: np.ndarray) -> np.ndarray:
        n, sx, sy, sxx, syy, sxy = np.moveaxis(sums, -1, 0)
        spread = np.clip(n * sxx - sx**2, 0, None) * np.clip(n * syy - sy**2, 0, None)
        return ratio(n * sxy - sx * sy, np.sqrt(spread))

    return Counted(counts=np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]), value=value)


def _spearman(gold: Sequence[float], answers: Sequence[float]) -> float:
    """Spearman rank correlation with mean ranks for ties, -1 to 1; 0 as for Pearson."""
    from scipy.stats import spearmanr

    return _correlation(spearmanr, gold, answers)


def _correlation(function: Callable[..., Any], gold: Sequence[float], answers: Sequence[float]) -> float:
    if len(set(gold)) < 2 or len(set(answers)) < 2 or not all(map(math.isfinite, answers)):
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of near-constant input, which training can pass through
        found = float(function(gold, answers).statistic)
    return 0.0 if math.isnan(found) else found


accuracy = Metric("accuracy", sums=_accuracy_sums, per_row=True)
macro_f1 = Metric("macro f1", sums=_macro_f1_sums)
matthews = Metric("matthews", sums=_matthews_sums)
pearson = Metric("pearson", _pearson, _pearson_sums)
spearman = Metric("spearman", _spearman)
# Of several labels a row, and of SQuAD: their tasks compute them.
micro_f1_of_sets, macro_f1_of_sets = Metric("micro f1"), Metric("macro f1")
exact_match_of_sets, exact_match = Metric("exact match", per_row=True), Metric("em", per_row=True)


def f1_of(label: str) -> Metric:
    """F1 of one class, as GLUE scores MRPC and QQP: 0 without a true positive."""
    return Metric("f1", sums=partial(_class_sums, label=label, part="f1"))


def f1_from(threshold: float) -> Metric:
    """F1 of the numbers that are at least `threshold`, as KLUE scores STS at 3: neither side is rounded before."""
    return Metric("f1", sums=partial(_f1_from_sums, threshold=threshold))


def class_metric(label: str, part: str) -> Metric:
    """One label's precision, recall or f1, whichever `part` names."""
    return Metric(f"{label}/{part}", sums=partial(_class_sums, label=label, part=part))


def in_words(scores: Scores, metric: Callable[[str], Metric]) -> str:
    """`dev f1 84.3, accuracy 77.0`, without scores by label; `metric` gives each score's metric."""
    return "  ".join(
        f"{split} " + ", ".join(f"{name} {metric(name).shown(given[name])}" for name in plain_metrics(given))
        for split, given in scores.items()
    )
