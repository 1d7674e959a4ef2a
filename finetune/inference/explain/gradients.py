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
from finetune.models.batch import Batch
from finetune.models.head import EncoderWithHead
from finetune.runs import interrupts
from finetune.task_types.explained import Pick

FIRST_STEPS, MOST_STEPS = 32, 1_024
TOKENS_AT_ONCE = 4_096  # of all sequences that are computed together, with padding


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
class PickedLogits:
    """Sum of the picked logits of some features, whose sequences are the rows of `batch`."""

    model: EncoderWithHead
    batch: Batch
    picks: Sequence[Pick]

    @property
    def shape(self) -> tuple[int, int]:
        """(sequences, length) of the features' token ids."""
        sequences, length = self.ids.shape
        return sequences, length

    @property
    def ids(self) -> Tensor:
        """The features' token ids, `(sequences, length)`."""
        assert self.batch.input_ids is not None
        return self.batch.input_ids

    @property
    def at_once(self) -> int:
        """How many versions of the ids are computed together."""
        return max(1, TOKENS_AT_ONCE // self.ids.numel())

    def __call__(self, ids: Tensor) -> Tensor:
        """The values `(n,)` of n versions of the token ids, each flat: `(n, sequences * length)`."""
        count, (sequences, length) = len(ids), self.shape
        _, *others = self.batch.repeated(count).inputs()
        logits = self.model(ids.reshape(count * sequences, length), *others).float()
        by_version = logits.unflatten(0, (count, -1))
        values = [pick.weight * _picked(by_version[:, pick.feature], pick) for pick in self.picks]
        return torch.stack(values).sum(0)

    def of(self, versions: Tensor) -> Tensor:
        """The values `(n,)` of n versions of the ids `(n, sequences, length)`, without gradients."""
        with torch.no_grad():
            flat = versions.flatten(1)
            parts = [flat[begin : begin + self.at_once] for begin in range(0, len(flat), self.at_once)]
            return torch.cat([self(part) for part in parts]).double()


def _picked(logits: Tensor, pick: Pick) -> Tensor:
    """One logit of each of `(n, ...)`, or its log-odds against the others along an axis: `(n,)`."""
    axis = pick.against or 0
    row = logits.movedim(1 + axis, -1)  # what the logit may be compared with is last
    for at in (*pick.place[:axis], *pick.place[axis + 1 :]):
        row = row[:, at]
    index = pick.place[axis]
    if pick.against is None:
        return row[:, index]
    return row[:, index] - torch.cat([row[:, :index], row[:, index + 1 :]], dim=1).logsumexp(1)


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
