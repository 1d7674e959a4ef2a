"""The losses of a student: those of the labels, and those of a teacher's answers.

Each is a sum over its own labels, as that of any head; the trainer divides by their number. What a softer target loses
in its gradient, a factor of the temperature squared gives back (Hinton et al. 2015, section 2.1).
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from finetune.inference.engine import IMPOSSIBLE
from finetune.models.batch import Batch
from finetune.models.feature import IGNORED, LABEL, TAUGHT
from finetune.models.head import Head
from finetune.runs.recipe_tables import Distil
from finetune.training.distil.states import STATES, TaughtStates


@dataclass(frozen=True, kw_only=True)
class TaughtLosses:
    """The objective of a run that learns answers, which are what `learns` of `Teaching` says; `states` adds layers."""

    head: Head
    learns: str
    settings: Distil
    states: TaughtStates | None = None

    def __call__(self, logits: Any, batch: Batch) -> dict[str, Tensor]:
        """The losses of labels and of answers by name, each summed over its own and with its weight."""
        weight, temperature = self.settings.weight, self.settings.temperature
        found = {TAUGHT: weight * soft_loss(self.head.by_item(logits), batch.labels[TAUGHT], self.learns, temperature)}
        labels = batch.labels[LABEL]
        there = has_label(labels)
        if weight < 1 and bool(there.any()):
            found[LABEL] = (1 - weight) * self.head.loss(logits[there], labels[there])
        return found | ({} if self.states is None else {STATES: self.states(batch)})


def soft_loss(logits: Tensor, targets: Tensor, learns: str, temperature: float) -> Tensor:
    """The loss of logits `(batch, items, n)` against what `softened` gives, summed over the items that have a target.

    Of classes the Kullback-Leibler divergence, of flags the binary cross-entropy above its least, of numbers the
    squared error.
    """
    there = targets != IGNORED
    wanted = targets.where(there, torch.zeros_like(targets))
    if learns == "number":
        return functional.mse_loss(logits.where(there, wanted), wanted, reduction="sum")
    cooled = logits.float().masked_fill(~there, IMPOSSIBLE) / temperature
    if learns == "flags":
        known = torch.stack([wanted, 1 - wanted], -1)
        guessed = torch.stack([functional.logsigmoid(cooled), functional.logsigmoid(-cooled)], -1)
        there = there.unsqueeze(-1)
    else:
        known, guessed = wanted, cooled.log_softmax(-1)
    apart: Tensor = torch.special.xlogy(known, known) - known * guessed
    return temperature**2 * apart.where(there, 0.0).sum()


def has_label(labels: Tensor) -> Tensor:
    """Which rows of a batch have a label, `(batch,)`."""
    if labels.is_floating_point() and labels.ndim == 1:
        return ~labels.isnan()
    return (labels != IGNORED).reshape(len(labels), -1).any(1)
