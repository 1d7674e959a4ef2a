"""Computes the last layer for the first token only, where only the pooled output is read."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from finetune.models.kernels import cpu
from finetune.models.kernels.layer_parts import Layer, named_attention, named_feed_forward

SHARED = "albert_layer_groups"  # layers that are called several times each


def last_layer_for_first_token(encoder: PreTrainedModel) -> Callable[[], object] | None:
    """Makes an encoder's last hidden state `(batch, 1, width)`, and returns what undoes it; an encoder whose layers do
    not have the names of `layer_parts` is left unchanged.

    Keys and values still come from all tokens, so the first token's vector is the same where layers normalise after
    attention.
    """
    layer = _last_layer(encoder)
    replaced = list(_replacements(encoder, layer))
    if not replaced:
        return None
    layer.first_alone = True
    for module, forward in replaced:
        module.forward = forward  # which can be pickled
    return partial(every_token_again, encoder)


def every_token_again(encoder: PreTrainedModel) -> bool:
    """Undoes `last_layer_for_first_token`; returns whether it was done."""
    layer = _last_layer(encoder)
    if not is_for_first(layer):
        return False
    del layer.first_alone
    for module, _ in _replacements(encoder, layer):
        del module.forward
    return True


def is_for_first(layer: Layer, *, last_call: bool = True, **_: Any) -> bool:
    """Whether a call of a layer is for the first token alone: of one that is called several times, the last."""
    return last_call and getattr(layer, "first_alone", False)


def _last_layer(encoder: Any) -> Layer:
    """The last layer; None where an encoder has other names for its layers."""
    stack = _layers_in(encoder)
    groups = getattr(stack, SHARED, None)
    layers = groups[-1].albert_layers if groups else getattr(stack, "layer", None)
    return layers[-1] if layers else None


def _layers_in(encoder: Any) -> Any:
    """The module that calls the layers."""
    return getattr(encoder, "encoder", None) or getattr(encoder, "transformer", None)


def _replacements(encoder: Any, layer: Layer) -> Iterator[tuple[Any, Callable[..., Any]]]:
    """The modules whose forward is replaced, and by what."""
    if layer is None or named_attention(layer) is None:
        return
    if hasattr(layer, "intermediate"):
        yield layer.attention, partial(_attend, layer)
    elif named_feed_forward(layer) is not None:
        yield layer, partial(_attend_and_feed_forward, layer)
        if hasattr(_layers_in(encoder), SHARED):
            yield _layers_in(encoder), partial(_call_shared, _layers_in(encoder))


def _attend(
    layer: Layer,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    *,
    position_bias: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """The first token's vector after attention, the residual and LayerNorm."""
    part: Any = named_attention(layer)
    first = hidden_states[:, :1]
    query, key, value = (
        linear(states).unflatten(-1, (part.heads, -1)).transpose(1, 2)
        for linear, states in zip(part.products[:3], (first, hidden_states, hidden_states), strict=True)
    )
    mask = attention_mask if attention_mask is None or attention_mask.ndim < 4 else attention_mask[:, :, :1]
    if position_bias is not None:
        bias = position_bias[:, :, :1]
        mask = bias if mask is None else bias + mask
    name = getattr(part.config, "_attn_implementation", "eager")
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(name, _eager(first.device))
    rate = part.weights_dropout.p if layer.training else 0.0
    context, _ = attend(layer.attention, query, key, value, mask, dropout=rate, scaling=part.scaling)
    return _added(part, part.products[3](context.flatten(2)), first), None


def _eager(device: torch.device) -> Callable[..., Any]:
    """Attention in matrix products, which a mask may be added to."""
    if device.type == "cpu":
        return cpu.attention
    from transformers.models.bert.modeling_bert import eager_attention_forward  # 0.1 s

    return eager_attention_forward  # type: ignore[no-any-return]


def _attend_and_feed_forward(
    layer: Layer, hidden_states: Tensor, attention_mask: Tensor | None = None, *, last_call: bool = True, **named: Any
) -> Tensor:
    """The first token's vector after a layer that has no module for each part; of an earlier call all tokens'."""
    if not last_call:
        return type(layer).forward(layer, hidden_states, attention_mask, **named)  # type: ignore[no-any-return]
    part: Any = named_feed_forward(layer)
    states, _ = _attend(layer, hidden_states, attention_mask)
    return _added(part, part.products[1](part.activation(part.products[0](states))), states)


def _added(part: Any, found: Tensor, states: Tensor) -> Tensor:
    """What comes behind the last product of a part: dropout, the residual and LayerNorm."""
    dropped = found if part.dropout is None else part.dropout(found)
    return part.norm(states + dropped)  # type: ignore[no-any-return]


def _call_shared(
    stack: Any, hidden_states: Tensor, attention_mask: Tensor | None = None, **named: Any
) -> BaseModelOutput:
    """ALBERT's encoder, which tells its layers which call is the last."""
    states, depth = stack.embedding_hidden_mapping_in(hidden_states), stack.config.num_hidden_layers
    for number in range(depth):
        group = stack.albert_layer_groups[int(number / (depth / stack.config.num_hidden_groups))]
        states = group(states, attention_mask, last_call=number == depth - 1, **named)
    return BaseModelOutput(last_hidden_state=states)
