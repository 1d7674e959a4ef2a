"""Gradual unfreezing (Howard and Ruder 2018, 3.3): first the new layers, then layer by layer from the last one down."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from torch import nn

from finetune.models.freezing import depths
from finetune.models.model import EncoderWithHead


@dataclass(frozen=True)
class Unfreezing:
    """The depth below the head of each weight that a run trains at some time, and how many layers an epoch adds.

    Which weights are trained is a function of the epoch alone, so that a resumed run trains the same ones. In the first
    epoch they are those of depth 0, the head and the pooler.
    """

    by_depth: Sequence[tuple[nn.Parameter, int]]
    layers: int

    @property
    def epochs(self) -> int:
        """The first epoch that trains them all."""
        return 1 + math.ceil(max((depth for _, depth in self.by_depth), default=0) / self.layers)

    def frozen(self, epoch: int) -> list[nn.Parameter]:
        """The weights that an epoch, counted from 1, leaves as they are."""
        return [parameter for parameter, depth in self.by_depth if depth > (epoch - 1) * self.layers]

    @contextmanager
    def at(self, epoch: int) -> Iterator[None]:
        """Computes no gradient of the weights that an epoch leaves, which saves most of an update's time.

        For a model in one process: DistributedDataParallel waits for the gradients that it saw at its start.
        """
        frozen = self.frozen(epoch)
        for parameter in frozen:
            parameter.requires_grad_(False)
        try:
            yield
        finally:
            for parameter in frozen:
                parameter.requires_grad_(True)


def unfreezing_of(model: EncoderWithHead, layers: int) -> Unfreezing | None:
    """The plan for a model, so many `layers` an epoch; None for 0. Raises UserError where layers share weights."""
    if not layers:
        return None
    return Unfreezing([each for each in depths(model.backbone.encoder) if each[0].requires_grad], layers)
