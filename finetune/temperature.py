"""Temperature scaling (Guo et al. 2017): one number, fitted on dev, that makes probabilities as sure as they are right.

It divides the logits, here the logarithms of the probabilities, which differ from them by a constant of the row; so
no answer changes.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

LOWEST, HIGHEST = 0.05, 20.0
TINY = 1e-30  # stands for probabilities that are 0 in the precision they were saved in


def fit_temperature(probabilities: Sequence[Sequence[float]], gold: Sequence[int]) -> float:
    """The temperature, between 0.05 and 20, at which the gold is most probable (least negative log-likelihood).

    Each row has the probabilities of its choices, which may be of different numbers, and the number of the right one.
    """
    logits = padded(probabilities)
    rows, right = np.arange(len(logits)), np.asarray(gold)

    def loss(sharpness: float) -> float:  # which is convex in 1 / temperature
        scaled = log_softmax(np.where(np.isinf(logits), logits, logits * sharpness), axis=1)
        return float(-scaled[rows, right].mean())

    found = minimize_scalar(loss, bounds=(1 / HIGHEST, 1 / LOWEST), method="bounded", options={"xatol": 1e-6})
    return float(1 / found.x)


def with_temperature(probabilities: Sequence[float], temperature: float) -> list[float]:
    """The probabilities of one row, its logits divided by the temperature."""
    scaled = np.log(np.maximum(probabilities, TINY)) / temperature
    return softmax(scaled).tolist()  # type: ignore[no-any-return]


def padded(probabilities: Sequence[Sequence[float]]) -> np.ndarray:
    """Logarithms `(rows, most choices)`, minus infinity where a row has fewer choices."""
    logits = np.full((len(probabilities), max(map(len, probabilities))), -np.inf)
    counts = np.array([len(row) for row in probabilities])
    there = np.arange(logits.shape[1]) < counts[:, None]
    logits[there] = np.log(np.maximum(np.concatenate([np.asarray(row, float) for row in probabilities]), TINY))
    return logits
