"""Metrics as pure functions of labels (`gold`) and predictions (`answers`); 1 is perfect.

GLUE's: Wang et al. 2018. Of relations: micro F1 without a class, KLUE's area under curves, SemEval-2010's macro F1. Of
ordered labels: how many steps a prediction is from its label.
"""

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from finetune.metrics.metric import Counted, Metric, Scores, plain_metrics
from finetune.metrics.sums import items_counted, macro_f1_counted, mean_counted, one_hot, part_counted, ratio

Labels = Sequence[Any]  # of rows, or their predictions
LEAST_ORDERED = 3  # labels, of which two have no steps between them
DIRECTION = re.compile(r"\(e\d,e\d\)$")  # of `Cause-Effect(e2,e1)`


def _equal(gold: Labels, answers: Labels) -> list[bool]:
    return [a == b for a, b in zip(gold, answers, strict=True)]


def _accuracy_sums(gold: Labels, answers: Labels) -> Counted:
    return mean_counted(_equal(gold, answers))


def _f1_from_sums(gold: Sequence[float], answers: Sequence[float], *, threshold: float) -> Counted:
    return _class_sums(*([value >= threshold for value in values] for values in (gold, answers)), label=True, part="f1")


def _macro_f1_sums(gold: Labels, answers: Labels) -> Counted:
    """Unweighted mean F1 of the classes that occur in labels or predictions; 0 where no row has a label."""
    true, predicted = one_hot(gold, answers)
    return macro_f1_counted(true * predicted, predicted, true, none=0.0)


def _class_sums(gold: Labels, answers: Labels, *, label: Any, part: str) -> Counted:
    true, predicted = (np.array([value == label for value in values]) for values in (gold, answers))
    return part_counted(part, true & predicted, predicted, true)


def precision_recall_f1(right: int, predicted: int, true: int) -> tuple[float, float, float]:
    """From the numbers of right, predicted and true items; 0 where the denominator is 0."""
    precision, recall = right / predicted if predicted else 0.0, right / true if true else 0.0
    return precision, recall, 2 * right / (predicted + true) if predicted + true else 0.0


def _matthews_sums(gold: Labels, answers: Labels) -> Counted:
    """Matthews correlation of any number of classes (Gorodkin 2004), from how often each is a label, is predicted, and
    both: -1 to 1; 0 when all predictions are one class.
    """
    true, predicted = one_hot(gold, answers)
    right = (true * predicted).sum(1)

    def value(sums: np.ndarray) -> np.ndarray:
        rows, hits = sums[..., 0], sums[..., 1]
        t, p = np.split(sums[..., 2:], 2, axis=-1)
        above = hits * rows - (t * p).sum(-1)
        return ratio(above, np.sqrt((rows**2 - (p**2).sum(-1)) * (rows**2 - (t**2).sum(-1))))

    return Counted(counts=np.column_stack([np.ones(len(right)), right, true, predicted]), value=value)


def _pearson_sums(gold: Sequence[float], answers: Sequence[float]) -> Counted:
    """Pearson correlation; 0 where one side is constant or not finite."""
    finite = answers if np.isfinite(answers).all() else np.zeros(len(answers))  # constant, so that the value is 0
    x, y = (np.asarray(values, dtype=float) - np.mean(values) for values in (gold, finite))

    def value(sums: np.ndarray) -> np.ndarray:
        n, sx, sy, sxx, syy, sxy = np.moveaxis(sums, -1, 0)
        spread = np.clip(n * sxx - sx**2, 0, None) * np.clip(n * syy - sy**2, 0, None)
        return ratio(n * sxy - sx * sy, np.sqrt(spread))

    return Counted(counts=np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]), value=value)


def _correlation(gold: Sequence[float], answers: Sequence[float], *, name: str) -> float:
    """A correlation of scipy.stats, -1 to 1; 0 where one side is constant or not finite, which leaves it undefined."""
    from scipy import stats

    if len(set(gold)) < 2 or len(set(answers)) < 2 or not all(map(math.isfinite, answers)):
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of near-constant input, which training can pass through
        correlation = float(getattr(stats, name)(gold, answers).statistic)
    return 0.0 if math.isnan(correlation) else correlation


accuracy = Metric("accuracy", sums=_accuracy_sums, per_row=True)
macro_f1 = Metric("macro f1", sums=_macro_f1_sums)
matthews = Metric("matthews", sums=_matthews_sums)
pearson = Metric("pearson", partial(_correlation, name="pearsonr"), _pearson_sums)
spearman = Metric("spearman", partial(_correlation, name="spearmanr"))  # of ties the mean rank
# Of several labels a row, of SQuAD, and of probabilities: their tasks compute them.
micro_f1_of_sets, macro_f1_of_sets, auprc = Metric("micro f1"), Metric("macro f1"), Metric("auprc")
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
        f"{split} " + ", ".join(f"{name} {metric(name).shown(values[name])}" for name in plain_metrics(values))
        for split, values in scores.items()
    )


def micro_f1_without(label: str) -> Metric:
    """F1 over all classes but one, such as `no_relation`, which is neither predicted nor missed (Zhang et al. 2017)."""
    return Metric("micro f1", sums=partial(_micro_sums, without=label))


def _micro_sums(gold: Labels, answers: Labels, *, without: str) -> Counted:
    true, predicted = (np.array([value != without for value in values]) for values in (gold, answers))
    return part_counted("f1", np.array(_equal(gold, answers)) & true, predicted, true)


def mean_area(gold: Sequence[str], chances: np.ndarray, labels: Sequence[str]) -> float:
    """The area under the precision-recall curve, a mean over classes, from probabilities `(rows, labels)`.

    As KLUE computes it (trapezoids, Park et al. 2021), but without classes that no row has: they have no curve.
    """
    from sklearn.metrics import auc, precision_recall_curve

    areas = []
    for column, label in enumerate(labels):
        positive = np.array([value == label for value in gold])
        if positive.any():
            precision, recall, _ = precision_recall_curve(positive, chances[:, column])
            areas.append(auc(recall, precision))
    return float(np.mean(areas)) if areas else 0.0


def directed_macro_f1(other: str) -> Metric:
    """SemEval-2010 task 8's official score: mean F1 of the relations, without `other`.

    A relation in the wrong direction is both a wrong one and a missed one. Only relations that a label has are counted.
    """
    return Metric("macro f1", sums=partial(_directed_sums, other=other))


def _directed_sums(gold: Sequence[str], answers: Sequence[str], *, other: str) -> Counted:
    sides = [[DIRECTION.sub("", label) for label in labels] for labels in (gold, answers)]
    names = sorted({*sides[0]} - {other})
    true, predicted = (
        np.array([[relation == name for name in names] for relation in side], float).reshape(len(gold), -1)
        for side in sides
    )
    right = true * np.array(_equal(gold, answers), float).reshape(len(gold), 1)

    def value(right: np.ndarray, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
        return ratio(ratio(2 * right, predicted + true).sum(-1), (true > 0).sum(-1).astype(float))

    return items_counted(right, predicted, true, value=value)


def ordinal_metrics(order: Sequence[str]) -> tuple[Metric, Metric]:
    """Quadratic weighted kappa (Cohen 1968) and the mean absolute error in steps, of labels from lowest to highest."""
    steps = {label: step for step, label in enumerate(order)}
    kappa, error = (partial(sums, steps=steps) for sums in (_kappa_sums, _error_sums))
    return (
        Metric("quadratic kappa", sums=kappa),
        Metric("mean absolute error", sums=error, scale=1, greater_is_better=False, decimals=2),
    )


def _kappa_sums(gold: Sequence[str], answers: Sequence[str], *, steps: Mapping[str, int]) -> Counted:
    """1 - squared steps / squared steps expected of independent sides with the same labels.

    0 if both sides are one and the same label, for which it is undefined.
    """
    a, b = _steps(gold, answers, steps)

    def value(sums: np.ndarray) -> np.ndarray:
        n, sa, sb, saa, sbb, observed = np.moveaxis(sums, -1, 0)
        expected = saa + sbb - 2 * ratio(sa * sb, n)
        return np.where(expected > 0, 1 - ratio(observed, expected), 0.0)

    return Counted(counts=np.column_stack([np.ones(len(a)), a, b, a * a, b * b, (a - b) ** 2]), value=value)


def _error_sums(gold: Sequence[str], answers: Sequence[str], *, steps: Mapping[str, int]) -> Counted:
    a, b = _steps(gold, answers, steps)
    return mean_counted(np.abs(a - b))


def _steps(gold: Sequence[str], answers: Sequence[str], steps: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """The steps of labels and predictions, each `(rows,)`; a missing prediction is as far from its label as can be."""
    a = np.array([steps[label] for label in gold], float)
    worst = np.where(a > (len(steps) - 1) / 2, 0, len(steps) - 1)
    return a, np.array([steps.get(label, far) for label, far in zip(answers, worst.tolist(), strict=True)], float)
