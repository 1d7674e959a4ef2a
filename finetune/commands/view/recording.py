"""Attention, step by step, as a forward pass computes it; with other tokens hidden from each token, where asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

from finetune.commands.view.parts import AttentionSteps

MOST_STEPS = 250_000  # numbers of queries, keys, values, scores and outputs on a page
NAME = "finetune_recorded"
EAGER = "eager"
TENSORS = ("queries", "keys", "values", "scores", "outputs")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One layer and the rows of a batch: queries, keys, values, outputs `(rows, heads, tokens, width)`; scores and
    weights `(rows, heads, tokens, tokens)`.
    """

    queries: Tensor
    keys: Tensor
    values: Tensor
    scores: Tensor
    weights: Tensor
    outputs: Tensor


@contextmanager
def recorded(encoder: PreTrainedModel, seen: Tensor | None = None) -> Iterator[list[Call]]:
    """Within it, a forward pass adds a Call a layer; none where attention is of another form.

    `seen`, bool and `(rows, tokens, tokens)`, says which tokens (last) a token sees, of those that the
    encoder shows it.
    """
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
        masked = scores if attention_mask is None else scores + attention_mask
        weights = (masked if seen is None else masked.masked_fill(~seen[:, None], -torch.inf)).softmax(-1)
        outputs = weights @ value
        calls.append(Call(queries=query, keys=key, values=value, scores=scores, weights=weights, outputs=outputs))
        return outputs.transpose(1, 2), weights

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, ALL_MASK_ATTENTION_FUNCTIONS[EAGER])
    try:
        encoder.set_attn_implementation(NAME)
        yield calls
    finally:
        encoder.set_attn_implementation(EAGER)


def attention_steps(encoder: PreTrainedModel, inputs: dict[str, Any]) -> AttentionSteps | None:
    """The steps in as many layers, evenly chosen, as a page can hold; None for a family that cannot be recorded."""
    try:
        with recorded(encoder) as calls, torch.inference_mode():
            encoder(**inputs)
    except (ValueError, NotImplementedError):  # a family that has only its own attention
        return None
    if len(calls) != encoder.config.num_hidden_layers:
        return None
    chosen = spread_layers(len(calls), MOST_STEPS // sum(getattr(calls[0], name).numel() for name in TENSORS))
    some = [calls[index] for index in chosen]
    return AttentionSteps(
        layers=[index + 1 for index in chosen], **{name: stacked_tensors(some, name) for name in TENSORS}
    )


def spread_layers(layers: int, most: int) -> list[int]:
    """At most so many layers, evenly chosen, from 0; at least one."""
    return sorted({round(index) for index in np.linspace(0, layers - 1, min(layers, max(1, most)))})


def stacked_tensors(calls: list[Call], name: str) -> Any:
    """One of the tensors of the first row of some calls as an array."""
    return torch.stack([getattr(call, name)[0] for call in calls]).numpy()
