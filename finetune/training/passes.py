"""The forward and backward passes of a batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from finetune.inference.engine import Engine
from finetune.models.batch import Batch
from finetune.models.model import as_float

Objective = Callable[[Any, Batch], dict[str, Tensor]]  # of logits, each loss by the name of its labels
LossAndChances = tuple[
    Tensor, Tensor | None
]  # the loss `()`, and the probability of each row's label `(rows,)` where known


@dataclass(kw_only=True)
class BatchPasses:
    """Adds the gradients of a batch's loss to those of the weights.

    `model` is the one that Accelerate prepared, `objective` gives the losses, by default those of the head. `chances`
    says whether the probabilities of labels are wanted. `notes` are for the user.
    """

    engine: Engine
    model: Any
    objective: Objective | None = None
    chances: bool = False
    notes: list[str] = field(default_factory=list)

    @cached_property
    def parameters(self) -> list[nn.Parameter]:
        """Those of the model, in a list: going through all modules takes a millisecond."""
        return list(self.engine.model.parameters())

    def __call__(self, batch: Batch, weights: Mapping[str, float]) -> LossAndChances:
        """The loss of a batch, each loss of it multiplied by its weight, and the labels' probabilities."""
        return self.passed(batch, weights)

    def freed(self) -> bool:
        """Gives back what memory it can do without, and returns whether there was any."""
        return False

    def passed(self, batch: Batch, weights: Mapping[str, float | Tensor]) -> LossAndChances:
        """As a call, with weights that may be tensors."""
        accelerator = self.engine.accelerator
        with accelerator.autocast():
            logits = as_float(self.model(*batch.inputs()))
            losses = self._losses(logits, batch)
            chances = self._label_chances(logits, batch)
            loss = sum((loss * weights[name] for name, loss in losses.items()), torch.tensor(0.0))
        accelerator.backward(loss * accelerator.num_processes)
        return loss.detach(), chances

    def _losses(self, logits: Any, batch: Batch) -> dict[str, Tensor]:
        if self.objective is not None:
            return self.objective(logits, batch)
        return self.engine.model.head.losses(logits, batch.labels)

    @torch.no_grad()
    def _label_chances(self, logits: Any, batch: Batch) -> Tensor | None:
        """The probability of each row's label, where all rows have one: those that a teacher teaches may have none."""
        if not self.chances or self.objective is not None:
            return None
        return self.engine.model.head.label_chances(logits, batch.labels)
