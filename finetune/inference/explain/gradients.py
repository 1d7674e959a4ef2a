"""Integrated gradients (Sundararajan et al. 2017) of a value over the word embeddings, computed by captum.

The path leads from the row with every word masked to the row itself. The parts add up to the difference of the two
values, up to the error of the numerical integral, which falls with the number of steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from finetune.errors import UserError
from finetune.inference.explain.explanation import LEAST_DIFFERENCE, TOLERANCE
from finetune.inference.explain.value import PickedLogits
from finetune.inference.explain.words import ExplainedWord
from finetune.runs import interrupts

FIRST_STEPS, MOST_STEPS = 32, 1_024


def require_captum() -> None:
    """Raises UserError where captum is not installed."""
    try:
        import captum  # noqa: F401
    except ImportError as error:
        raise UserError(
            "an explanation needs a package that is not installed (captum)",
            "Install it: pip install 'bert-finetune[explain]'",
        ) from error


@dataclass(frozen=True, kw_only=True)
class Gradients:
    """What each token adds, `(sequences, length)`, the number of steps, and the values at both ends of the path."""

    parts: Tensor
    steps: int
    masked: float
    value: float


def integrated_gradients(value: PickedLogits, masked: Tensor) -> Gradients:
    """What each token adds to the value.

    `masked` `(sequences, length)` are the ids from which the path starts. Steps are doubled until the parts add up to
    the difference within TOLERANCE, or to MOST_STEPS.
    """
    start, end = value.of(torch.stack([masked, value.ids])).tolist()
    allowed = TOLERANCE * max(abs(end - start), LEAST_DIFFERENCE)
    steps = FIRST_STEPS
    while True:
        parts = _attribute(value, masked, steps)
        if abs(float(parts.sum()) - (end - start)) <= allowed or steps >= MOST_STEPS:
            return Gradients(parts=parts, steps=steps, masked=start, value=end)
        steps *= 2


def sums_by_word(parts: Tensor, words: Sequence[ExplainedWord]) -> list[float]:
    """The sum over each word's tokens, in all windows or choices."""
    return [float(sum(parts[place] for place in word.places)) for word in words]


def _attribute(value: PickedLogits, masked: Tensor, steps: int) -> Tensor:
    from captum.attr import LayerIntegratedGradients

    interrupts.stop_if_asked()
    method = LayerIntegratedGradients(value, value.model.backbone.encoder.get_input_embeddings())
    with torch.backends.cudnn.flags(enabled=False):  # its LSTM has no gradients in evaluation mode
        parts = method.attribute(
            value.ids.reshape(1, -1),
            baselines=masked.reshape(1, -1),
            n_steps=steps,
            internal_batch_size=value.at_once * len(value.ids),
        )
    found: Tensor = parts.detach().double().sum(-1).cpu()
    return found
