"""Temperature scaling (Guo et al. 2017): one number, fitted on dev, that calibrates probabilities.

It divides the logits, here the logarithms of the probabilities, which differ from them by a constant per row;
predictions do not change.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

LOWEST, HIGHEST = 0.05, 20.0
TINY = 1e-30  # replaces probabilities that were rounded to 0 when saved


def fit_temperature(probabilities: Sequence[Sequence[float]], gold: Sequence[int]) -> float:
    """The temperature, between 0.05 and 20, with the least negative log-likelihood of the labels.

    Each row has the probabilities of its choices, whose number may vary, and the index of the right one (`gold`).
    """
    from scipy.optimize import minimize_scalar

    logits = centred(probabilities)
    right = logits[np.arange(len(logits)), np.asarray(gold)]

    def loss(sharpness: float) -> float:  # which is convex in 1 / temperature
        return float((np.log(np.exp(logits * sharpness).sum(axis=1)) - right * sharpness).mean())

    found = minimize_scalar(loss, bounds=(1 / HIGHEST, 1 / LOWEST), method="bounded", options={"xatol": 1e-5})
    return float(1 / found.x)


def with_temperature(probabilities: Sequence[float], temperature: float) -> list[float]:
    """The probabilities `(choices,)` of one row after dividing its logits by the temperature."""
    from scipy.special import softmax

    scaled = np.log(np.maximum(probabilities, TINY)) / temperature
    return softmax(scaled).tolist()  # type: ignore[no-any-return]


def highest_with_temperature(probabilities: Sequence[Sequence[float]], temperature: float) -> np.ndarray:
    """The highest probability of each row `(rows,)`, at the temperature."""
    confidence: np.ndarray = 1 / np.exp(centred(probabilities) / temperature).sum(axis=1)
    return confidence


def centred(probabilities: Sequence[Sequence[float]]) -> np.ndarray:
    """Log probabilities `(rows, most choices)`, 0 for each row's highest, minus infinity for absent choices."""
    counts = np.array([len(row) for row in probabilities])
    logits = np.full((len(counts), counts.max()), -np.inf)
    flat = np.fromiter(chain.from_iterable(probabilities), dtype=float, count=int(counts.sum()))
    logits[np.arange(logits.shape[1]) < counts[:, None]] = np.log(np.maximum(flat, TINY))
    return logits - logits.max(axis=1, keepdims=True)  # type: ignore[no-any-return]
