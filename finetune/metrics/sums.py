"""Metrics as functions of sums over rows, so that a resample of the rows is scored by adding counts.

Their values equal those of `scores`, which computes the same metrics from whole columns.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Numbers = Sequence[float] | np.ndarray


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A metric of some rows: `value` maps sums `(..., c)` of their `counts` `(rows, c)` to scores `(...)`."""

    counts: np.ndarray
    value: Callable[[np.ndarray], np.ndarray]

    @property
    def score(self) -> float:
        """The score over all rows."""
        return float(self.value(self.counts.sum(0)))

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.counts)

    def resampled(self, weights: np.ndarray) -> np.ndarray:
        """The score of each resample `(resamples,)`; `weights` `(resamples, rows)` count each row in it."""
        return self.value(weights @ self.counts)


def mean_counted(values: Numbers, among: Sequence[bool] | None = None) -> Counted:
    """The mean of one value per row `(rows,)`, or only over the rows where `among` `(rows,)` is true. 0 over none."""
    there = np.ones(len(values)) if among is None else np.asarray(among, dtype=float)
    return Counted(counts=np.column_stack([np.asarray(values, dtype=float) * there, there]), value=_mean)


def f1_counted(right: Numbers, given: Numbers, there: Numbers) -> Counted:
    """F1 from each row's numbers of right, predicted (`given`) and true (`there`) items, each `(rows,)`."""
    return part_counted("f1", right, given, there)


def micro_f1_counted(right: Numbers, given: Numbers, there: Numbers) -> Counted:
    """`f1_counted`, but 1 where neither side has any items."""

    def value(sums: np.ndarray) -> np.ndarray:
        return np.where(sums[..., 1] + sums[..., 2] > 0, _f1(sums), 1.0)

    return Counted(counts=np.column_stack([right, given, there]).astype(float), value=value)


def part_counted(part: str, right: Numbers, given: Numbers, there: Numbers) -> Counted:
    """`precision`, `recall` or `f1`, whichever `part` names, from the same counts."""
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
    return _ratio(sums[..., 0], sums[..., 1])


def _f1(sums: np.ndarray) -> np.ndarray:
    return _ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


def _precision(sums: np.ndarray) -> np.ndarray:
    return _ratio(sums[..., 0], sums[..., 1])


def _recall(sums: np.ndarray) -> np.ndarray:
    return _ratio(sums[..., 0], sums[..., 2])


PARTS = {"precision": _precision, "recall": _recall, "f1": _f1}


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient; 0 where the denominator is 0."""
    ratio: np.ndarray = np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below != 0)
    return ratio


def _hits(gold: Sequence[Any], answers: Sequence[Any], label: Any) -> tuple[Any, Any, Any]:
    there, given = (np.array([value == label for value in values]) for values in (gold, answers))
    return there & given, given, there


def class_counted(gold: Sequence[Any], answers: Sequence[Any], *, label: Any, part: str) -> Counted:
    """Precision, recall or f1 of one label, whichever `part` names."""
    return part_counted(part, *_hits(gold, answers, label))


def accuracy_counted(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """Share of predictions that equal the label."""
    return mean_counted([a == b for a, b in zip(gold, answers, strict=True)])


def _one_hot(gold: Sequence[Any], answers: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    labels = {label: index for index, label in enumerate(sorted({*gold, *answers}, key=str))}
    eye = np.eye(len(labels))
    return eye[[labels[value] for value in gold]], eye[[labels[value] for value in answers]]


def macro_f1_of_classes_counted(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """Mean F1 of the classes that occur, one per row; 0 where none does."""
    there, given = _one_hot(gold, answers)
    return macro_f1_counted(there * given, given, there, none=0.0)


def matthews_counted(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """Matthews correlation of any number of classes (Gorodkin 2004), from counts of true, predicted and right."""
    there, given = _one_hot(gold, answers)
    right = (there * given).sum(1)

    def value(sums: np.ndarray) -> np.ndarray:
        rows, hits = sums[..., 0], sums[..., 1]
        t, p = np.split(sums[..., 2:], 2, axis=-1)
        above = hits * rows - (t * p).sum(-1)
        return _ratio(above, np.sqrt((rows**2 - (p**2).sum(-1)) * (rows**2 - (t**2).sum(-1))))

    return Counted(counts=np.column_stack([np.ones(len(right)), right, there, given]), value=value)


def pearson_counted(gold: Sequence[float], answers: Sequence[float]) -> Counted:
    """Pearson correlation; 0 where one side is constant or not finite."""
    given = answers if np.isfinite(answers).all() else np.zeros(len(answers))  # constant: the correlation is 0
    x, y = (np.asarray(values, dtype=float) - np.mean(values) for values in (gold, given))

    def value(sums: np.ndarray) -> np.ndarray:
        n, sx, sy, sxx, syy, sxy = np.moveaxis(sums, -1, 0)
        spread = np.clip(n * sxx - sx**2, 0, None) * np.clip(n * syy - sy**2, 0, None)
        return _ratio(n * sxy - sx * sy, np.sqrt(spread))

    return Counted(counts=np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]), value=value)
