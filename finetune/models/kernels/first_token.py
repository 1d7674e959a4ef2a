"""Computes the last layer for the first token only, where only the pooled output is read."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from finetune.models.kernels import cpu


def last_layer_for_first_token(encoder: PreTrainedModel) -> Callable[[], object] | None:
    """Makes an encoder's last hidden state `(batch, 1, width)`, and returns what undoes it; an encoder whose layers do
    not have BERT's names is left unchanged.

    Keys and values still come from all tokens, so the first token's vector is the same where layers normalise after
    attention.
    """
    layers = getattr(getattr(encoder, "encoder", None), "layer", None)
    attention: Any = getattr(layers[-1], "attention", None) if layers else None
    inner = getattr(attention, "self", None)
    if all(hasattr(inner, name) for name in ("query", "key", "value", "attention_head_size", "scaling", "dropout")):
        attention.first_alone = True
        attention.forward = partial(_attend, attention)  # which can be pickled
        return partial(every_token_again, encoder)
    return None


def every_token_again(encoder: PreTrainedModel) -> bool:
    """Undoes `last_layer_for_first_token`; returns whether it was done."""
    layers = getattr(getattr(encoder, "encoder", None), "layer", None)
    attention: Any = getattr(layers[-1], "attention", None) if layers else None
    if not getattr(attention, "first_alone", False):
        return False
    del attention.first_alone, attention.forward
    return True


def _attend(
    self: nn.Module, hidden_states: Tensor, attention_mask: Tensor | None = None, **_: Any
) -> tuple[Tensor, None]:
    inner: Any = self.self
    first = hidden_states[:, :1]
    query, key, value = (
        layer(states).unflatten(-1, (-1, inner.attention_head_size)).transpose(1, 2)
        for layer, states in ((inner.query, first), (inner.key, hidden_states), (inner.value, hidden_states))
    )
    mask = attention_mask if attention_mask is None or attention_mask.ndim < 4 else attention_mask[:, :, :1]
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(inner.config._attn_implementation, cpu.attention)
    context, _ = attend(
        inner, query, key, value, mask, dropout=inner.dropout.p if self.training else 0.0, scaling=inner.scaling
    )
    output: Tensor = self.output(context.flatten(2), first)  # type: ignore[operator]
    return output, None
