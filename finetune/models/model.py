"""Model: a backbone and a head, from the tensors of a batch to logits."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from finetune.models.backbone import Backbone
from finetune.models.batch import Batch
from finetune.models.head import Head, Logits

HeadFor = Callable[[Backbone], Head]


class EncoderWithHead(nn.Module):
    """A backbone and a head; `notes` are for the user, on how it is computed."""

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.notes: list[str] = []
        if not head.uses_pooler:
            backbone.drop_pooler()

    @property
    def pooled(self) -> bool:
        """Whether the head reads the pooled output alone."""
        return self.head.inputs == {"pooled"}

    @property
    def reads_both(self) -> bool:
        """Whether the head reads the sequence output and the pooled output."""
        return len(self.head.inputs) == 2

    @property
    def by_position(self) -> bool:
        """Whether each position that is read has logits."""
        return not self.pooled and not self.head.joins

    def forward(
        self,
        input_ids: Tensor | None,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        choices: Tensor | None = None,
        positions: Tensor | None = None,
        states: Tensor | None = None,
    ) -> Any:
        """Logits of a batch (`batch.Batch`), see `Head.forward`; with `choices` `(batch, n)` one row of logits for each
        feature's choices, `(batch, most choices)`, minus infinity where a feature has fewer.
        """
        batch = Batch(input_ids, attention_mask, token_type_ids, choices, positions, states)
        batch = self.head.in_training(batch) if self.training else batch
        logits: Logits = self.head(*self.hidden(batch))
        return logits if choices is None else _by_feature(logits.squeeze(-1), choices)  # type: ignore[union-attr]

    def hidden(self, batch: Batch) -> tuple[Tensor, ...]:
        """The head's input, `(batch, n, width)` or `(batch, width)`, and the mask of its positions `(batch, n)`; then,
        for a head that reads both outputs, the pooled output `(batch, width)`.
        """
        if self.reads_both:
            return self.backbone.sequence_and_pooled(**batch.for_encoder())
        states, mask = batch.states, batch.attention_mask
        if states is None:
            layers = self.backbone.layer_indices(pooled=self.pooled)
            states, mask = self.backbone.hidden_states(layers, pooled=self.pooled, **batch.for_encoder())
        return self.backbone.read(states, mask, pooled=self.pooled), mask


def as_float(logits: Any) -> Any:
    """Logits, or logits by name, in single precision."""
    return {name: each.float() for name, each in logits.items()} if isinstance(logits, dict) else logits.float()


def _by_feature(logits: Tensor, choices: Tensor) -> Tensor:
    """The logits `(sequences,)` of the choices of each feature `(batch, n)`, minus infinity where it has fewer."""
    found = logits.gather(0, choices.clamp(min=0).flatten()).view_as(choices)
    return found.masked_fill(choices < 0, -torch.inf)
