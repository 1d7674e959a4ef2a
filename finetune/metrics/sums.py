"""Metrics as functions of sums over rows, so that a resample of the rows is scored by adding counts.

Here is what several metrics are made of; `scores` has the sums of a metric next to its score, and their values agree.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from finetune.metrics.metric import Counted

Numbers = Sequence[float] | np.ndarray


def mean_counted(values: Numbers, among: Sequence[bool] | None = None) -> Counted:
    """The mean of one value per row `(rows,)`, or only over the rows where `among` `(rows,)` is true. 0 over none."""
    there = np.ones(len(values)) if among is None else np.asarray(among, dtype=float)
    return Counted(counts=np.column_stack([np.asarray(values, dtype=float) * there, there]), value=_mean)


def micro_f1_counted(right: Numbers, given: Numbers, there: Numbers) -> Counted:
    """F1 from counts as in `part_counted`, but 1 where neither side has any items."""

    def value(sums: np.ndarray) -> np.ndarray:
        return np.where(sums[..., 1] + sums[..., 2] > 0, _f1(sums), 1.0)

    return Counted(counts=np.column_stack([right, given, there]).astype(float), value=value)


def part_counted(part: str, right: Numbers, given: Numbers, there: Numbers) -> Counted:
    """Precision, recall or f1, whichever `part` names, from each row's numbers of right, predicted (`given`) and true
    (`there`) items, each `(rows,)`.
    """
    return Counted(counts=np.column_stack([right, given, there]).astype(float), value=PARTS[part])


def set_counts(
    gold: Sequence[Collection[Any]], answers: Sequence[Collection[Any]]
) -> tuple[list[int], list[int], list[int]]:
    """(right, predicted, true) counts of each row's set, each `(rows,)`."""
    right = [len(set(a) & set(b)) for a, b in zip(gold, answers, strict=True)]
    return right, [len(set(b)) for b in answers], [len(set(a)) for a in gold]


def macro_f1_counted(right: np.ndarray, given: np.ndarray, there: np.ndarray, *, none: float) -> Counted:
    """Mean F1 over the labels that occur; arrays `(rows, labels)`. `none` is the value where no label occurs."""

    def value(sums: np.ndarray) -> np.ndarray:
        hit, some, all_ = np.split(sums, 3, axis=-1)
        occurs = some + all_ > 0
        f1 = np.divide(2 * hit, some + all_, out=np.zeros_like(hit), where=occurs)
        count = occurs.sum(-1)
        return np.where(count > 0, f1.sum(-1) / np.maximum(count, 1), none)

    return Counted(counts=np.column_stack([right, given, there]).astype(float), value=value)


def _mean(sums: np.ndarray) -> np.ndarray:
    return ratio(sums[..., 0], sums[..., 1])


def _f1(sums: np.ndarray) -> np.ndarray:
    return ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


def _precision(sums: np.ndarray) -> np.ndarray:
    return ratio(sums[..., 0], sums[..., 1])


def _recall(sums: np.ndarray) -> np.ndarray:
    return ratio(sums[..., 0], sums[..., 2])


PARTS = {"precision": _precision, "recall": _recall, "f1": _f1}


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient; 0 where the denominator is 0."""
    found: np.ndarray = np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below != 0)
    return found


def one_hot(gold: Sequence[Any], answers: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays `(rows, classes)` of zeros and ones."""
    labels = {label: index for index, label in enumerate(sorted({*gold, *answers}, key=str))}
    eye = np.eye(len(labels))
    return eye[[labels[value] for value in gold]], eye[[labels[value] for value in answers]]
