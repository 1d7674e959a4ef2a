"""Metrics as functions of sums over rows, so that a resample of the rows is scored by adding counts.

Several metrics are made of these; `scores` has a metric's sums next to its score, and their values agree.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from finetune.metrics.metric import Counted

Numbers = Sequence[float] | np.ndarray
# Factors of the right items above, and of the predicted and true items below.
PARTS = {"precision": (1, 1, 0), "recall": (1, 0, 1), "f1": (2, 1, 1)}


def mean_counted(values: Numbers, among: Sequence[bool] | None = None) -> Counted:
    """The mean of one value per row `(rows,)`, or only over the rows where `among` `(rows,)` is true. 0 over none."""
    counted = np.ones(len(values)) if among is None else np.asarray(among, dtype=float)
    return ratio_counted(np.asarray(values, dtype=float) * counted, counted)


def ratio_counted(above: Numbers, below: Numbers) -> Counted:
    """The quotient of two sums over rows, each `(rows,)`; 0 where the denominator is 0."""
    return Counted(
        counts=np.column_stack([above, below]).astype(float), value=lambda sums: ratio(*np.moveaxis(sums, -1, 0))
    )


def items_counted(
    right: Numbers,
    predicted: Numbers,
    true: Numbers,
    *,
    value: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> Counted:
    """A metric of the numbers of right, predicted and true items, each `(rows,)` or `(rows, labels)`.

    `value` maps the three sums `(..., labels)` to scores `(...)`.
    """
    counts = np.column_stack([right, predicted, true]).astype(float)
    return Counted(counts=counts, value=lambda sums: value(*np.split(sums, 3, axis=-1)))


def part_counted(part: str, right: Numbers, predicted: Numbers, true: Numbers) -> Counted:
    """Precision, recall or f1, whichever `part` names, of items as in `items_counted`, each `(rows,)`."""
    value = partial(_part, part=part)
    return items_counted(right, predicted, true, value=lambda *sums: value(*sums)[..., 0])


def micro_f1_counted(right: Numbers, predicted: Numbers, true: Numbers) -> Counted:
    """Mean F1 over the labels of `items_counted`; a label without predicted and true items counts 1."""

    def value(right: np.ndarray, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(predicted + true > 0, _part(right, predicted, true), 1.0).mean(-1))

    return items_counted(right, predicted, true, value=value)


def macro_f1_counted(right: np.ndarray, predicted: np.ndarray, true: np.ndarray, *, none: float) -> Counted:
    """Mean F1 over the labels that occur; arrays `(rows, labels)`. `none` is the value where no label occurs."""

    def value(right: np.ndarray, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
        count = (predicted + true > 0).sum(-1)
        return np.where(count > 0, _part(right, predicted, true).sum(-1) / np.maximum(count, 1), none)

    return items_counted(right, predicted, true, value=value)


def set_counts(
    gold: Sequence[Collection[Any]], answers: Sequence[Collection[Any]]
) -> tuple[list[int], list[int], list[int]]:
    """(right, predicted, true) counts of each row's set, each `(rows,)`."""
    right = [len(set(a) & set(b)) for a, b in zip(gold, answers, strict=True)]
    return right, [len(set(b)) for b in answers], [len(set(a)) for a in gold]


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient; 0 where the denominator is 0."""
    return np.asarray(np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below != 0))


def _part(right: np.ndarray, predicted: np.ndarray, true: np.ndarray, part: str = "f1") -> np.ndarray:
    times, of_predicted, of_true = PARTS[part]
    return ratio(times * right, of_predicted * predicted + of_true * true)


def one_hot(gold: Sequence[Any], answers: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays `(rows, classes)` of zeros and ones."""
    labels = {label: index for index, label in enumerate(sorted({*gold, *answers}, key=str))}
    eye = np.eye(len(labels))
    return eye[[labels[value] for value in gold]], eye[[labels[value] for value in answers]]
