"""CORN: ordered labels by the probability of being above each one but the last (Shi, Cao and Raschka 2021).

Logit k is of being above label k among rows that are at least at label k. Their chain gives the probability of each
label, so that its negative logarithm is the loss.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor


def logit_names(order: Sequence[str]) -> tuple[str, ...]:
    """`above bad`, `above ok`: what each logit is of, for labels from lowest to highest."""
    return tuple(f"above {label}" for label in order[:-1])


def corn_losses(logits: "Tensor", labels: "Tensor") -> "Tensor":
    """The losses `(batch,)` of logits `(batch, labels - 1)`: the sum of the binary losses that a row takes part in.

    The paper divides by the number of these, ours by that of rows, as for classes: the values are then comparable.
    """
    import torch
    from torch.nn import functional

    steps = torch.arange(logits.shape[1], device=logits.device)
    above = (labels[:, None] > steps).to(logits.dtype)
    each = functional.binary_cross_entropy_with_logits(logits, above, reduction="none")
    return (each * (labels[:, None] >= steps)).sum(1)


def above_chances(logits: np.ndarray) -> np.ndarray:
    """The probability of being above each label but the last, `(rows, labels - 1)`, which never rises."""
    from scipy.special import expit

    return np.cumprod(expit(logits), axis=-1)


def label_chances(above: np.ndarray) -> np.ndarray:
    """The probability of each label `(rows, labels)`."""
    ends = np.ones((len(above), 1)), np.zeros((len(above), 1))
    return -np.diff(np.concatenate([ends[0], above, ends[1]], axis=1), axis=1)
