"""A layer of a BERT-like encoder on a CPU as one function, with its own backward pass.

Of a step in half precision more than half was not products: autograd casts the input of each product and its gradient,
copies each head's queries, and reads the masks of dropout as bytes. Here the layer's states stay in the precision of
autocast, queries and keys are laid out once for all heads, and a bias's gradient is a product. Its sums are rounded in
another order than those of transformers' layer, nothing else differs.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from transformers import PreTrainedModel

from finetune.models.kernels import cpu
from finetune.models.kernels.first_token import is_for_first
from finetune.models.kernels.layer_parts import AttentionParts, FeedForwardParts, Layer, attention_of, feed_forward_of
from finetune.models.kernels.layer_passes import AttentionPasses, FeedForwardPasses, Passes

Forward = Callable[..., Any]


def take_whole_layers(encoder: PreTrainedModel) -> Callable[[], None]:
    """Computes the parts of an encoder's layers by this file where they are BERT's; returns what undoes it.

    transformers' code calls them as before, so that it can compute them again for the backward pass.
    """
    # A merged layer is scored as it will be saved, so with LoRA all stay as they are.
    with_lora = any(hasattr(module, "lora_A") for module in encoder.modules())
    replaced = [] if with_lora else [each for module in encoder.modules() for each in _replacements(module)]
    before = [module.__dict__.get("forward") for module, _ in replaced]
    for (module, forward), otherwise in zip(replaced, before, strict=True):
        plain = otherwise or partial(type(module).forward, module)
        module.forward = partial(forward, plain)  # which can be pickled
    return partial(_undo, [module for module, _ in replaced], before)


def _undo(modules: list[nn.Module], before: list[Forward | None]) -> None:
    for module, forward in zip(modules, before, strict=True):
        del module.forward
        if forward is not None:
            module.forward = forward


def _replacements(layer: Layer) -> Iterator[tuple[nn.Module, Forward]]:
    """The modules of a layer whose forward is replaced, each with a function that is given the one before it."""
    attention, feed_forward = attention_of(layer), feed_forward_of(layer)
    if hasattr(layer, "intermediate"):
        if attention is not None:
            yield layer.attention, partial(_attend, layer)
        if feed_forward is not None:
            yield layer.intermediate, partial(_wait, layer)
            yield layer.output, partial(_feed_forward, layer)
    elif attention is not None and feed_forward is not None:
        yield layer, partial(_attend_and_feed_forward, layer)


def _attend(
    layer: Layer,
    plain: Forward,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    *given: Any,
    position_bias: Tensor | None = None,
    **named: Any,
) -> tuple[Tensor, Any]:
    """The output of a layer's attention; where weights are asked for, or texts are long, as it was before."""
    attention = attention_of(layer)
    if attention is None or named.get("output_attentions") or not _is_taken(attention, hidden_states):
        named |= {} if position_bias is None else {"position_bias": position_bias}
        return plain(hidden_states, attention_mask, *given, **named)  # type: ignore[no-any-return]
    first = is_for_first(layer)
    return _attended(layer, attention, hidden_states, attention_mask, first=first, bias=position_bias), None


def _wait(layer: Layer, plain: Forward, hidden_states: Tensor) -> Tensor:
    """What is left for `_feed_forward` to compute."""
    return plain(hidden_states) if feed_forward_of(layer) is None else hidden_states


def _feed_forward(layer: Layer, plain: Forward, wide: Tensor, given: Tensor) -> Tensor:
    """The output of a layer's feed-forward part."""
    part = feed_forward_of(layer)
    return plain(wide, given) if part is None else _fed_forward(layer, part, given)


def _attend_and_feed_forward(
    layer: Layer, plain: Forward, hidden_states: Tensor, attention_mask: Tensor | None = None, **named: Any
) -> Tensor:
    """The output of a layer without a module for each part."""
    attention, feed_forward = attention_of(layer), feed_forward_of(layer)
    if attention is None or feed_forward is None or not _is_taken(attention, hidden_states):
        return plain(hidden_states, attention_mask, **named)  # type: ignore[no-any-return]
    first = is_for_first(layer, **named)
    return _fed_forward(layer, feed_forward, _attended(layer, attention, hidden_states, attention_mask, first=first))


def _is_taken(attention: AttentionParts, states: Tensor) -> bool:
    return not attention.recorded and states.shape[1] <= cpu.MOST_IN_TWO


def _attended(
    layer: Layer,
    part: AttentionParts,
    states: Tensor,
    mask: Tensor | None,
    *,
    first: bool = False,
    bias: Tensor | None = None,
) -> Tensor:
    """The output of an attention, of the first token alone with `first`. `bias` is added to scores too."""
    passes = AttentionPasses(
        heads=part.heads,
        scaling=part.scaling,
        queries=1 if first else states.shape[1],
        weights_dropout=_rate(part.weights_dropout, layer),
        dropout=_rate(part.dropout, layer),
        epsilon=part.norm.eps,
    )
    mask = None if mask is None else mask[:, :, : passes.queries].clamp(min=cpu.MASKED)
    if bias is not None:
        bias = bias[:, :, : passes.queries]
        mask = bias if mask is None else bias + mask
    return _Part.apply(passes, states, mask, *_weights(part))  # type: ignore[no-any-return, no-untyped-call]


def _fed_forward(layer: Layer, part: FeedForwardParts, states: Tensor) -> Tensor:
    passes = FeedForwardPasses(
        approximate=part.approximate or "none", dropout=_rate(part.dropout, layer), epsilon=part.norm.eps
    )
    return _Part.apply(passes, states, None, *_weights(part))  # type: ignore[no-any-return, no-untyped-call]


def _rate(dropout: Any, layer: Layer) -> float:
    return dropout.p if dropout is not None and layer.training else 0.0


def _weights(part: AttentionParts | FeedForwardParts) -> list[Tensor]:
    return [weight for each in (*part.products, part.norm) for weight in (each.weight, each.bias)]


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
        of_states, of_mask, of_weights = ctx.passes.backward(gradient, ctx.saved_tensors)
        wanted = zip((of_mask, *of_weights), ctx.needs_input_grad[2:], strict=True)
        return None, of_states.to(ctx.kind), *(each.float() if needs else None for each, needs in wanted)
