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
from finetune.models.kernels.layer_passes import Facts, backward_pass, forward_pass

PRODUCTS = 6  # the parts of a layer that are in half precision; its two LayerNorms are not


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
    """The layer's six products and then its two norms, where it has those of BERT and no others."""
    try:
        attention, inner, act = layer.attention, layer.attention.self, layer.intermediate.intermediate_act_fn
        linear = [inner.query, inner.key, inner.value, attention.output.dense, layer.intermediate.dense]
        linear.append(layer.output.dense)
        norms = [attention.output.LayerNorm, layer.output.LayerNorm]
    except AttributeError:
        return None
    plain = all(type(each) is nn.Linear and each.bias is not None for each in linear)
    plain = plain and all(type(each) is nn.LayerNorm for each in norms)
    plain = plain and isinstance(act, GELUActivation) and act.act is gelu
    if not plain or getattr(layer, "is_decoder", False) or not hasattr(inner, "scaling"):
        return None
    return [*linear, *norms]


def _forward(layer: Any, hidden_states: Tensor, attention_mask: Tensor | None = None, *given: Any, **named: Any) -> Any:
    """What transformers' layer returns; where attention is asked for, or texts are long, by its own code."""
    parts, length = parts_of(layer), hidden_states.shape[1]
    own = parts is not None and layer.attention.self.config._attn_implementation == cpu.ATTENTION
    if parts is None or not own or length > cpu.MOST_IN_TWO:
        return type(layer).forward(layer, hidden_states, attention_mask, *given, **named)
    inner = layer.attention.self
    dropouts = (inner.dropout, layer.attention.output.dropout, layer.output.dropout)
    facts = Facts(
        heads=inner.num_attention_heads,
        scaling=inner.scaling,
        queries=1 if "forward" in layer.attention.__dict__ else length,  # `last_layer_for_first_token`
        dropouts=tuple(each.p if layer.training else 0.0 for each in dropouts),
        norms=(parts[-2].eps, parts[-1].eps),
    )
    weights = [weight for part in parts for weight in (part.weight, part.bias)]
    mask = None if attention_mask is None else attention_mask[:, :, :1].clamp(min=cpu.MASKED)
    return _WholeLayer.apply(hidden_states, mask, facts, *weights)


class _WholeLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, mask: Tensor | None, facts: Facts, *weights: Tensor) -> Tensor:
        kind = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else states.dtype
        with torch.autocast("cpu", enabled=False):
            cast = [each.to(kind) for each in weights[: 2 * PRODUCTS]]
            output, kept = forward_pass(states.to(kind), mask, facts, [*cast, *weights[2 * PRODUCTS :]])
        ctx.facts, ctx.kind = facts, states.dtype
        ctx.save_for_backward(*kept)
        return output

    @staticmethod
    @once_differentiable  # type: ignore[no-untyped-call, untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        of_states, of_weights = backward_pass(ctx.facts, gradient, ctx.saved_tensors)
        wanted = zip(of_weights, ctx.needs_input_grad[3:], strict=True)
        return of_states.to(ctx.kind), None, None, *(each.float() if needs else None for each, needs in wanted)
