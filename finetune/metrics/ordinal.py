"""Metrics of ordered labels: how many steps a prediction is from its label."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from finetune.metrics.metric import Counted, Metric
from finetune.metrics.sums import mean_counted, ratio

LEAST_ORDERED = 3  # labels, of which two have no steps between them


def ordinal_metrics(order: Sequence[str]) -> tuple[Metric, Metric]:
    """Quadratic weighted kappa (Cohen 1968) and the mean absolute error in steps, of labels from lowest to highest."""
    places = {label: place for place, label in enumerate(order)}
    kappa, error = (partial(sums, places=places) for sums in (_kappa_sums, _error_sums))
    return (
        Metric("quadratic kappa", sums=kappa),
        Metric("mean absolute error", sums=error, scale=1, greater_is_better=False, decimals=2),
    )


def _kappa_sums(gold: Sequence[str], answers: Sequence[str], *, places: Mapping[str, int]) -> Counted:
    """1 less the squared steps over those expected of independent sides with the same labels; 0 where both sides are
    one and the same label, which leaves it undefined.
    """
    a, b = _places(gold, answers, places)

    def value(sums: np.ndarray) -> np.ndarray:
        n, sa, sb, saa, sbb, observed = np.moveaxis(sums, -1, 0)
        expected = saa + sbb - 2 * ratio(sa * sb, n)
        return np.where(expected > 0, 1 - ratio(observed, expected), 0.0)

    return Counted(counts=np.column_stack([np.ones(len(a)), a, b, a * a, b * b, (a - b) ** 2]), value=value)


def _error_sums(gold: Sequence[str], answers: Sequence[str], *, places: Mapping[str, int]) -> Counted:
    a, b = _places(gold, answers, places)
    return mean_counted(np.abs(a - b))


def _places(gold: Sequence[str], answers: Sequence[str], places: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """The steps of labels and predictions, each `(rows,)`; a missing prediction is as far from its label as can be."""
    a = np.array([places[label] for label in gold], float)
    worst = np.where(a > (len(places) - 1) / 2, 0, len(places) - 1)
    return a, np.array([places.get(label, far) for label, far in zip(answers, worst.tolist(), strict=True)], float)
