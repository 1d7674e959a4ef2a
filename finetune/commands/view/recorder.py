"""Records queries, keys and values of every layer, in any family, through transformers' AttentionInterface."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

NAME = "finetune_recorded"
EAGER = "eager"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One layer: queries, keys, values, outputs `(heads, tokens, width)`; scores `(heads, tokens, tokens)`."""

    queries: Tensor
    keys: Tensor
    values: Tensor
    scores: Tensor
    outputs: Tensor


@contextmanager
def recorded(encoder: PreTrainedModel) -> Iterator[list[Call]]:
    """Within it, a forward pass over one sequence adds a Call a layer; none where attention is of another form."""
    calls: list[Call] = []

    def attend(
        _module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        **_: Any,
    ) -> tuple[Tensor, Tensor]:
        scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
        weights = (scores if attention_mask is None else scores + attention_mask).softmax(-1)
        outputs = weights @ value
        calls.append(Call(queries=query[0], keys=key[0], values=value[0], scores=scores[0], outputs=outputs[0]))
        return outputs.transpose(1, 2), weights

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, ALL_MASK_ATTENTION_FUNCTIONS[EAGER])
    try:
        encoder.set_attn_implementation(NAME)
        yield calls
    finally:
        encoder.set_attn_implementation(EAGER)


def stacked_tensors(calls: list[Call], name: str) -> Any:
    """One of the tensors of some calls as an array."""
    return torch.stack([getattr(call, name) for call in calls]).numpy()
