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
from finetune.models.kernels.layer_passes import AttentionPasses, FeedForwardPasses, Passes

Layer = Any  # of transformers: `attention`, `intermediate`, `output`


def take_whole_layers(encoder: PreTrainedModel) -> Callable[[], None]:
    """Computes the parts of an encoder's layers by this file where they are BERT's; returns what undoes it.

    transformers' layer calls them as before, so that it can compute them again for the backward pass.
    """
    layers = getattr(getattr(encoder, "encoder", None), "layer", None) or []
    taken = [layer for layer in layers if has_parts(layer)]
    before = [layer.attention.__dict__.get("forward") for layer in taken]
    for layer, otherwise in zip(taken, before, strict=True):
        layer.attention.forward = partial(_attend, layer, otherwise)  # which can be pickled
        layer.feed_forward_chunk = partial(_feed_forward, layer)
    return partial(_undo, taken, before)


def _undo(layers: Iterable[Layer], before: Iterable[Callable[..., Any] | None]) -> None:
    for layer, forward in zip(layers, before, strict=True):
        del layer.attention.forward, layer.feed_forward_chunk
        if forward is not None:
            layer.attention.forward = forward


def has_parts(layer: Layer) -> bool:
    """Whether a layer has the products and norms of BERT, and not others in their place, as with LoRA."""
    try:
        products = [*_attention_parts(layer)[:-1], *_feed_forward_parts(layer)[:-1]]
        norms = [_attention_parts(layer)[-1], _feed_forward_parts(layer)[-1]]
        inner, act = layer.attention.self, layer.intermediate.intermediate_act_fn
        plain = isinstance(act, GELUActivation) and act.act is gelu and bool(inner.scaling)
    except AttributeError:
        return False
    plain = plain and all(type(each) is nn.Linear and each.bias is not None for each in products)
    return plain and all(type(each) is nn.LayerNorm for each in norms) and not getattr(layer, "is_decoder", False)


def _attention_parts(layer: Layer) -> list[Any]:
    inner, output = layer.attention.self, layer.attention.output
    return [inner.query, inner.key, inner.value, output.dense, output.LayerNorm]


def _feed_forward_parts(layer: Layer) -> list[Any]:
    return [layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm]


def _attend(
    layer: Layer,
    otherwise: Callable[..., Any] | None,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    *given: Any,
    **named: Any,
) -> tuple[Tensor, Any]:
    """The output of a layer's attention; where weights are asked for, or texts are long, as it was before."""
    attention, length = layer.attention, hidden_states.shape[1]
    inner = attention.self
    if inner.config._attn_implementation != cpu.ATTENTION or length > cpu.MOST_IN_TWO or not has_parts(layer):
        plain = otherwise or partial(type(attention).forward, attention)
        return plain(hidden_states, attention_mask, *given, **named)  # type: ignore[no-any-return]
    passes = AttentionPasses(
        heads=inner.num_attention_heads,
        scaling=inner.scaling,
        queries=1 if getattr(attention, "first_alone", False) else length,
        weights_dropout=inner.dropout.p if layer.training else 0.0,
        dropout=attention.output.dropout.p if layer.training else 0.0,
        epsilon=attention.output.LayerNorm.eps,
    )
    mask = None if attention_mask is None else attention_mask[:, :, : passes.queries].clamp(min=cpu.MASKED)
    return _Part.apply(passes, hidden_states, mask, *_weights(_attention_parts(layer))), None  # type: ignore[no-untyped-call]


def _feed_forward(layer: Layer, attention_output: Tensor) -> Tensor:
    """The output of a layer's feed-forward part."""
    if not has_parts(layer):
        return type(layer).feed_forward_chunk(layer, attention_output)  # type: ignore[no-any-return]
    passes = FeedForwardPasses(
        dropout=layer.output.dropout.p if layer.training else 0.0, epsilon=layer.output.LayerNorm.eps
    )
    return _Part.apply(passes, attention_output, None, *_weights(_feed_forward_parts(layer)))  # type: ignore[no-any-return, no-untyped-call]


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
