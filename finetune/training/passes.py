"""The forward and backward passes of a batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from finetune.inference.engine import Engine
from finetune.models.batch import Batch
from finetune.models.head import as_float

Objective = Callable[[Any, Batch], dict[str, Tensor]]  # of logits, each loss by the name of its labels


@dataclass(kw_only=True)
class BatchPasses:
    """Adds the gradients of a batch's loss to those of the weights.

    `model` is the one that Accelerate prepared, `objective` gives the losses, by default those of the head. `notes` are
    for the user.
    """

    engine: Engine
    model: Any
    objective: Objective | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def parameters(self) -> list[nn.Parameter]:
        """Those of the model, in a list: going through all modules takes a millisecond."""
        return list(self.engine.model.parameters())

    def __call__(self, batch: Batch, weights: Mapping[str, float]) -> Tensor:
        """The loss of a batch, each loss of it multiplied by its weight `()`."""
        return self.passed(batch, weights)

    def freed(self) -> bool:
        """Gives back what memory it can do without, and returns whether there was any."""
        return False

    def passed(self, batch: Batch, weights: Mapping[str, float | Tensor]) -> Tensor:
        """As a call, with weights that may be tensors."""
        accelerator = self.engine.accelerator
        with accelerator.autocast():
            logits = as_float(self.model(*batch.inputs()))
            losses = self._losses(logits, batch)
            loss = sum((loss * weights[name] for name, loss in losses.items()), torch.tensor(0.0))
        accelerator.backward(loss * accelerator.num_processes)
        return loss.detach()

    def _losses(self, logits: Any, batch: Batch) -> dict[str, Tensor]:
        if self.objective is not None:
            return self.objective(logits, batch)
        return self.engine.model.head.losses(logits, batch.labels)
