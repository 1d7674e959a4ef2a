"""Replaces the parts of an encoder's layers: the last layer by one for the first token alone, and on a CPU each part by
a function of `whole_layer`, with its own backward pass.

Attention ends with its output product; feed-forward has two products with GELU between them. Both end with dropout, the
residual and LayerNorm. RoBERTa and others have BERT's names, BigBird and DeBERTa-v2 in the feed-forward part alone.
transformers' code calls the parts as before, so that gradient checkpointing can compute them again.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu
from transformers import PreTrainedModel
from transformers.activations import GELUActivation, NewGELUActivation
from transformers.modeling_outputs import BaseModelOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from finetune.models.kernels.attention import MASKED, MOST_IN_TWO, ON_CPU, attention
from finetune.models.kernels.whole_layer import AttentionPasses, FeedForwardPasses, computed

Layer = Any  # of transformers
SHARED = "albert_layer_groups"  # layers that are called several times each


@dataclass(frozen=True, kw_only=True)
class LayerPart:
    """Attention, with products to query, key, value and output; or feed-forward, with two products and an activation.

    `own_scaling` is the factor of scores of a layer that stores it; `config` is the encoder's, if that names the
    attention function.
    """

    products: Sequence[Any]
    norm: Any
    dropout: Any = None
    heads: int = 0
    weights_dropout: Any = None
    own_scaling: float | None = None
    config: Any = None
    activation: Any = None

    @property
    def scaling(self) -> float:
        """The factor of scores."""
        return self.own_scaling or (self.products[0].out_features // self.heads) ** -0.5

    @property
    def recorded(self) -> bool:
        """Whether another attention function was chosen, such as one that returns its weights."""
        return self.config is not None and self.config._attn_implementation != ON_CPU

    @property
    def approximate(self) -> str | None:
        """The `approximate` of torch's GELU for the activation; None for another activation."""
        if type(self.activation) is GELUActivation and self.activation.act is gelu:
            return "none"
        return "tanh" if type(self.activation) is NewGELUActivation else None

    @property
    def plain(self) -> bool:
        """Whether all parts are torch's: not so with LoRA, or other norms."""
        products = all(type(layer) is nn.Linear and layer.bias is not None for layer in self.products)
        drops = all(isinstance(drop, nn.Dropout | None) for drop in (self.weights_dropout, self.dropout))
        return products and drops and type(self.norm) is nn.LayerNorm


OWN_SCALING = {"own_scaling": "attention.scaling", "config": "attention.config"}
ATTENTION: Sequence[Mapping[str, str]] = (  # of BERT, DistilBERT, ALBERT, MPNet
    {
        "products": "attention.self.query attention.self.key attention.self.value attention.output.dense",
        "norm": "attention.output.LayerNorm",
        "heads": "attention.self.num_attention_heads",
        "weights_dropout": "attention.self.dropout",
        "dropout": "attention.output.dropout",
        "own_scaling": "attention.self.scaling",
        "config": "attention.self.config",
    },
    {
        "products": "attention.q_lin attention.k_lin attention.v_lin attention.out_lin",
        "norm": "sa_layer_norm",
        "heads": "attention.n_heads",
        "weights_dropout": "attention.dropout",
        **OWN_SCALING,
    },
    {
        "products": "attention.query attention.key attention.value attention.dense",
        "norm": "attention.LayerNorm",
        "heads": "attention.num_attention_heads",
        "weights_dropout": "attention.attention_dropout",
        "dropout": "attention.output_dropout",
        **OWN_SCALING,
    },
    {
        "products": "attention.attn.q attention.attn.k attention.attn.v attention.attn.o",
        "norm": "attention.LayerNorm",
        "heads": "attention.attn.num_attention_heads",
        "weights_dropout": "attention.attn.dropout",
        "dropout": "attention.dropout",
    },
)
FEED_FORWARD: Sequence[Mapping[str, str]] = (  # of BERT and MPNet, DistilBERT, ALBERT
    {
        "products": "intermediate.dense output.dense",
        "norm": "output.LayerNorm",
        "activation": "intermediate.intermediate_act_fn",
        "dropout": "output.dropout",
    },
    {
        "products": "ffn.lin1 ffn.lin2",
        "norm": "output_layer_norm",
        "activation": "ffn.activation",
        "dropout": "ffn.dropout",
    },
    {"products": "ffn ffn_output", "norm": "full_layer_layer_norm", "activation": "activation"},
)


def attention_of(layer: Layer) -> LayerPart | None:
    """A layer's attention; None where a part is not torch's, or tokens attend to earlier ones alone."""
    part = named_part(layer, ATTENTION)
    return part if part and part.plain and not getattr(layer, "is_decoder", False) else None


def feed_forward_of(layer: Layer) -> LayerPart | None:
    """A layer's feed-forward part; None where a part is not torch's."""
    part = named_part(layer, FEED_FORWARD)
    return part if part and part.approximate and part.plain else None


def named_part(layer: Layer, families: Sequence[Mapping[str, str]]) -> LayerPart | None:
    """The parts by the names of the first family whose names a layer has all of; None without one."""
    for names in families:
        with suppress(AttributeError):
            parts: dict[str, Any] = {part: attrgetter(*paths.split())(layer) for part, paths in names.items()}
            return LayerPart(**parts)
    return None


def last_layer_for_first_token(encoder: PreTrainedModel) -> Callable[[], object] | None:
    """Makes an encoder's last hidden state `(batch, 1, width)`; returns a function that undoes it, or None where the
    layers have other names.

    Keys and values still come from all tokens, so the first token's vector is the same if layers normalise after
    attention.
    """
    layer, stack = _last_layer(encoder), _stack(encoder)
    if layer is None or named_part(layer, ATTENTION) is None:
        return None
    if not hasattr(layer, "intermediate"):
        if named_part(layer, FEED_FORWARD) is None:
            return None
        if hasattr(stack, SHARED):
            stack.forward = partial(_call_shared, stack)
    layer.first_alone = True
    _replace(layer)
    return partial(every_token_again, encoder)


def every_token_again(encoder: PreTrainedModel) -> bool:
    """Undoes `last_layer_for_first_token`; returns whether it was done."""
    layer = _last_layer(encoder)
    if not getattr(layer, "first_alone", False):
        return False
    del layer.first_alone
    _stack(encoder).__dict__.pop("forward", None)
    _replace(layer)
    return True


def take_whole_layers(encoder: PreTrainedModel) -> Callable[[], None]:
    """Computes the parts of an encoder's layers as functions where they are BERT's; returns a function to undo it."""
    # With LoRA all layers stay: they are scored merged, as they are saved, and other sums would be rounded otherwise.
    with_lora = any(hasattr(module, "lora_A") for module in encoder.modules())
    layers: list[Layer] = [] if with_lora else [layer for layer in encoder.modules() if _has_whole_part(layer)]
    _set_whole_parts(layers, True)
    return partial(_set_whole_parts, layers, False)


def _set_whole_parts(layers: Sequence[Layer], whole: bool) -> None:
    for layer in layers:
        layer.whole_parts = whole
        _replace(layer)


def _has_whole_part(layer: Layer) -> bool:
    parts = (attention_of(layer), feed_forward_of(layer))
    return any(parts) if hasattr(layer, "intermediate") else all(parts)


def _replace(layer: Layer) -> None:
    """Sets or restores the forward of the modules of a layer's parts; of the layer itself if it has none."""
    first, whole = getattr(layer, "first_alone", False), getattr(layer, "whole_parts", False)
    replaced: list[tuple[Any, Callable[..., Any], bool]] = [(layer, _attend_and_feed_forward, first or whole)]
    if hasattr(layer, "intermediate"):
        feeds = whole and feed_forward_of(layer) is not None
        attends = first or (whole and attention_of(layer) is not None)
        replaced = [
            (getattr(layer, "attention", layer), _attend, attends),  # FNet has none
            (layer.intermediate, _wait, feeds),
            (layer.output, _feed_forward, feeds),
        ]
    for module, forward, taken in replaced:
        module.__dict__.pop("forward", None)
        if taken:
            module.forward = partial(forward, layer)  # unlike a lambda, it pickles


def _stack(encoder: Any) -> Any:
    return getattr(encoder, "encoder", None) or getattr(encoder, "transformer", None)


def _last_layer(encoder: Any) -> Layer:
    groups = getattr(_stack(encoder), SHARED, None)
    layers = groups[-1].albert_layers if groups else getattr(_stack(encoder), "layer", None)
    return layers[-1] if layers else None


def _attend(
    layer: Layer,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    *more: Any,
    position_bias: Tensor | None = None,
    **named: Any,
) -> tuple[Tensor, Any]:
    """The output of a layer's attention; for long texts, or if its weights are asked for, by transformers' code."""
    first, whole = getattr(layer, "first_alone", False), _whole_attention(layer, hidden_states)
    if whole is not None and not named.get("output_attentions"):
        return _attended(layer, whole, hidden_states, attention_mask, first=first, bias=position_bias), None
    if first:
        return _attended_first(layer, hidden_states, attention_mask, position_bias), None
    named |= {} if position_bias is None else {"position_bias": position_bias}
    return type(layer.attention).forward(layer.attention, hidden_states, attention_mask, *more, **named)  # type: ignore[no-any-return]


def _wait(layer: Layer, hidden_states: Tensor) -> Tensor:
    if feed_forward_of(layer) is not None:  # `_feed_forward` computes both products
        return hidden_states
    return type(layer.intermediate).forward(layer.intermediate, hidden_states)  # type: ignore[no-any-return]


def _feed_forward(layer: Layer, wide: Tensor, states: Tensor) -> Tensor:
    if (part := feed_forward_of(layer)) is not None:
        return _fed_forward(layer, part, states)
    return type(layer.output).forward(layer.output, wide, states)  # type: ignore[no-any-return]


def _attend_and_feed_forward(
    layer: Layer, hidden_states: Tensor, attention_mask: Tensor | None = None, *, last_call: bool = True, **named: Any
) -> Tensor:
    """The output of a layer without modules for its parts. Where it is called several times, the last call alone is
    for the first token.
    """
    first = last_call and getattr(layer, "first_alone", False)
    whole = _whole_attention(layer, hidden_states) if feed_forward_of(layer) is not None else None
    if whole is None and not first:
        return type(layer).forward(layer, hidden_states, attention_mask, **named)  # type: ignore[no-any-return]
    computed_layer = partial(_layer_in_parts, layer, whole, first)
    if layer.training and getattr(
        layer, "gradient_checkpointing", False
    ):  # transformers wraps the forward of its class
        return layer._gradient_checkpointing_func(computed_layer, hidden_states, attention_mask)  # type: ignore[no-any-return]
    return computed_layer(hidden_states, attention_mask)


def _layer_in_parts(
    layer: Layer, whole: LayerPart | None, first: bool, hidden_states: Tensor, attention_mask: Tensor | None
) -> Tensor:
    if whole is not None:
        feed_forward: Any = feed_forward_of(layer)
        return _fed_forward(layer, feed_forward, _attended(layer, whole, hidden_states, attention_mask, first=first))
    part: Any = named_part(layer, FEED_FORWARD)
    states = _attended_first(layer, hidden_states, attention_mask, None)
    return _added(part, part.products[1](part.activation(part.products[0](states))), states)


def _whole_attention(layer: Layer, states: Tensor) -> LayerPart | None:
    """The attention if it is computed as one function; None if its weights are recorded, or texts are long."""
    part = attention_of(layer) if getattr(layer, "whole_parts", False) else None
    return None if part is None or part.recorded or states.shape[1] > MOST_IN_TWO else part


def _attended_first(layer: Layer, states: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """The first token's vector `(batch, 1, width)` after attention, residual and LayerNorm, by torch's operations."""
    part: Any = named_part(layer, ATTENTION)
    first = states[:, :1]
    query, key, value = (
        linear(vectors).unflatten(-1, (part.heads, -1)).transpose(1, 2)
        for linear, vectors in zip(part.products[:3], (first, states, states), strict=True)
    )
    mask = mask if mask is None or mask.ndim < 4 else mask[:, :, :1]
    if bias is not None:
        mask = bias[:, :, :1] + (0 if mask is None else mask)
    name = getattr(part.config, "_attn_implementation", "eager")
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(name, _eager(first.device))
    rate = part.weights_dropout.p if layer.training else 0.0
    context, _ = attend(layer.attention, query, key, value, mask, dropout=rate, scaling=part.scaling)
    return _added(part, part.products[3](context.flatten(2)), first)


def _eager(device: torch.device) -> Callable[..., Any]:
    if device.type == "cpu":
        return attention
    from transformers.models.bert.modeling_bert import eager_attention_forward  # 0.1 s

    return eager_attention_forward  # type: ignore[no-any-return]


def _added(part: LayerPart, output: Tensor, states: Tensor) -> Tensor:
    return part.norm(states + (output if part.dropout is None else part.dropout(output)))  # type: ignore[no-any-return]


def _call_shared(
    stack: Any, hidden_states: Tensor, attention_mask: Tensor | None = None, **named: Any
) -> BaseModelOutput:
    """ALBERT's encoder, which tells its layers when a call is the last."""
    states, depth = stack.embedding_hidden_mapping_in(hidden_states), stack.config.num_hidden_layers
    for number in range(depth):
        group = stack.albert_layer_groups[int(number / (depth / stack.config.num_hidden_groups))]
        states = group(states, attention_mask, last_call=number == depth - 1, **named)
    return BaseModelOutput(last_hidden_state=states)


def _attended(
    layer: Layer, part: LayerPart, states: Tensor, mask: Tensor | None, *, first: bool, bias: Tensor | None = None
) -> Tensor:
    """The output of an attention; with `first` for the first token alone. `bias` and `mask` are added to scores."""
    queries = 1 if first else states.shape[1]
    mask = None if mask is None else mask[:, :, :queries].clamp(min=MASKED)
    if bias is not None:
        mask = bias[:, :, :queries] + (0 if mask is None else mask)
    passes = AttentionPasses(
        heads=part.heads,
        scaling=part.scaling,
        queries=queries,
        weights_dropout=_rate(part.weights_dropout, layer),
        dropout=_rate(part.dropout, layer),
        epsilon=part.norm.eps,
    )
    return computed(passes, (*part.products, part.norm), states, mask)


def _fed_forward(layer: Layer, part: LayerPart, states: Tensor) -> Tensor:
    passes = FeedForwardPasses(
        approximate=part.approximate or "none", dropout=_rate(part.dropout, layer), epsilon=part.norm.eps
    )
    return computed(passes, (*part.products, part.norm), states, None)


def _rate(dropout: Any, layer: Layer) -> float:
    return dropout.p if dropout is not None and layer.training else 0.0
