"""A layer of a BERT-like encoder on a CPU as one function, with its own backward pass.

Of a step in half precision more than half was not products: autograd casts the input of each product and its gradient,
copies each head's queries, and reads the masks of dropout as bytes. Here the layer's states stay in the precision of
autocast, queries and keys are laid out once for all heads, and a bias's gradient is a product. Its sums are rounded in
another order than those of transformers' layer, nothing else differs.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import gelu
from transformers import PreTrainedModel
from transformers.activations import GELUActivation

from finetune.models.kernels import cpu
from finetune.models.kernels.layer_passes import Attention, FeedForward, Passes

KINDS = (*[nn.Linear] * 4, nn.LayerNorm, *[nn.Linear] * 2, nn.LayerNorm)


def take_whole_layers(encoder: PreTrainedModel) -> Callable[[], None]:
    """Computes the layers of an encoder by this file where they have BERT's parts; returns what undoes it."""
    layers = getattr(getattr(encoder, "encoder", None), "layer", None) or []
    taken = [layer for layer in layers if parts_of(layer) is not None]
    for layer in taken:
        layer.forward = partial(_forward, layer)  # which can be pickled
    return partial(_undo, taken)


def _undo(layers: Iterable[nn.Module]) -> None:
    for layer in layers:
        del layer.forward


def parts_of(layer: Any) -> list[Any] | None:
    """The products and norms of a layer in their order, where it has those of BERT and no others."""
    try:
        attention, inner, act = layer.attention, layer.attention.self, layer.intermediate.intermediate_act_fn
        parts = [inner.query, inner.key, inner.value, attention.output.dense, attention.output.LayerNorm]
        parts += [layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm]
    except AttributeError:
        return None
    plain = all(type(each) is kind for each, kind in zip(parts, KINDS, strict=True))
    plain = plain and isinstance(act, GELUActivation) and act.act is gelu and hasattr(inner, "scaling")
    return None if not plain or getattr(layer, "is_decoder", False) else parts


def _forward(layer: Any, hidden_states: Tensor, attention_mask: Tensor | None = None, *given: Any, **named: Any) -> Any:
    """What transformers' layer returns; where attention is asked for, or texts are long, by its own code."""
    parts, length, inner = parts_of(layer), hidden_states.shape[1], layer.attention.self
    if parts is None or inner.config._attn_implementation != cpu.ATTENTION or length > cpu.MOST_IN_TWO:
        return type(layer).forward(layer, hidden_states, attention_mask, *given, **named)
    dropouts = [inner.dropout, layer.attention.output.dropout, layer.output.dropout]
    in_attention, after, last = (each.p if layer.training else 0.0 for each in dropouts)
    attention = Attention(
        heads=inner.num_attention_heads,
        scaling=inner.scaling,
        queries=1 if "forward" in layer.attention.__dict__ else length,  # `last_layer_for_first_token`
        weights_dropout=in_attention,
        dropout=after,
        epsilon=parts[4].eps,
    )
    mask = None if attention_mask is None else attention_mask[:, :, :1].clamp(min=cpu.MASKED)
    states = _Part.apply(attention, hidden_states, mask, *_weights(parts[:5]))  # type: ignore[no-untyped-call]
    feed_forward = FeedForward(dropout=last, epsilon=parts[7].eps)
    return _Part.apply(feed_forward, states, None, *_weights(parts[5:]))  # type: ignore[no-untyped-call]


def _weights(parts: Iterable[Any]) -> list[Tensor]:
    return [weight for part in parts for weight in (part.weight, part.bias)]


class _Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, passes: Passes, states: Tensor, mask: Tensor | None, *weights: Tensor) -> Tensor:
        kind = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else states.dtype
        with torch.autocast("cpu", enabled=False):
            products = [each.to(kind) for each in weights[:-2]]
            output, saved = passes.forward(states.to(kind), mask, [*products, *weights[-2:]])
        ctx.passes, ctx.kind = passes, states.dtype
        ctx.save_for_backward(*saved)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        of_states, of_weights = ctx.passes.backward(gradient, ctx.saved_tensors)
        wanted = zip(of_weights, ctx.needs_input_grad[3:], strict=True)
        return None, of_states.to(ctx.kind), None, *(each.float() if needs else None for each, needs in wanted)
