"""The value that is explained, as a differentiable function of token ids."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from finetune.models.batch import Batch
from finetune.models.head import EncoderWithHead
from finetune.task_types.explained import Pick

TOKENS_AT_ONCE = 4_096  # of all sequences that are computed together, with padding


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
