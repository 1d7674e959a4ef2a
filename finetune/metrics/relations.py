"""Metrics of relations between two entities: micro F1 without a class, areas under curves, SemEval-2010's macro F1."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from finetune.metrics.metric import Counted, Metric
from finetune.metrics.sums import part_counted, ratio

DIRECTION = re.compile(r"\(e\d,e\d\)$")  # of `Cause-Effect(e2,e1)`


def micro_f1_without(label: str) -> Metric:
    """F1 over all classes but one, such as `no_relation`, which is neither found nor missed (Zhang et al. 2017)."""
    return Metric("micro f1", sums=partial(_micro_sums, without=label))


def _micro_sums(gold: Sequence[Any], answers: Sequence[Any], *, without: str) -> Counted:
    there, given = (np.array([value != without for value in values]) for values in (gold, answers))
    right = np.array([a == b for a, b in zip(gold, answers, strict=True)]) & there
    return part_counted("f1", right, given, there)


auprc = Metric("auprc")  # from probabilities, so a task computes it


def mean_area(gold: Sequence[str], chances: np.ndarray, labels: Sequence[str]) -> float:
    """The area under the precision-recall curve, a mean over classes, from probabilities `(rows, labels)`.

    As KLUE computes it (trapezoids, Park et al. 2021), but that a class which no row has is left out: it has no curve.
    """
    from sklearn.metrics import auc, precision_recall_curve

    areas = []
    for place, label in enumerate(labels):
        positive = np.array([value == label for value in gold])
        if positive.any():
            precision, recall, _ = precision_recall_curve(positive, chances[:, place])
            areas.append(auc(recall, precision))
    return float(np.mean(areas)) if areas else 0.0


def directed_macro_f1(other: str) -> Metric:
    """SemEval-2010 task 8's official score: mean F1 of the relations, without `other`.

    A relation in the wrong direction is both a wrong one and a missed one. Only relations that a label has are counted.
    """
    return Metric("macro f1", sums=partial(_directed_sums, other=other))


def relation_of(label: str) -> str:
    """A label without its direction."""
    return DIRECTION.sub("", label)


def _directed_sums(gold: Sequence[str], answers: Sequence[str], *, other: str) -> Counted:
    names = sorted({*map(relation_of, gold)} - {other})
    there, given = (
        np.array([[relation_of(value) == name for name in names] for value in values], float).reshape(len(gold), -1)
        for values in (gold, answers)
    )
    right = there * np.array([[a == b] for a, b in zip(gold, answers, strict=True)], float).reshape(len(gold), 1)

    def value(sums: np.ndarray) -> np.ndarray:
        hit, some, all_ = np.split(sums, 3, axis=-1)
        return ratio(ratio(2 * hit, some + all_).sum(-1), (all_ > 0).sum(-1).astype(float))

    return Counted(counts=np.column_stack([right, given, there]), value=value)
