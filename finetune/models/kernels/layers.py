"""Layers of BERT, of families with its names, of DistilBERT and of ALBERT: on a CPU attention and feed-forward are one
function each (`whole_layer`), and the last layer computes the first token alone where a head reads no other.

A layer's `forward` is replaced, so that transformers' code calls it as before, also again for the backward pass. Which
layers a family has is in its row, not guessed from names: layers that normalise before attention have
BERT's names too, and would lose their last LayerNorm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from torch import Tensor
from torch.nn.functional import gelu
from transformers import PreTrainedModel
from transformers.activations import GELUActivation, NewGELUActivation
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from finetune.models.families import FAMILIES
from finetune.models.kernels.attention import MASKED, MOST_IN_TWO, attention
from finetune.models.kernels.whole_layer import AttentionPasses, FeedForwardPasses, computed

Layer = Any  # of transformers


@dataclass(frozen=True, kw_only=True)
class LayerPart:
    """Attention, with the products to query, key, value and output, or feed-forward, with two and an activation; after
    both come dropout, the residual and LayerNorm.
    """

    products: Sequence[Any]
    norm: Any
    dropout: Any = None
    heads: int = 0
    weights_dropout: Any = None
    config: Any = None
    activation: Any = None

    @property
    def scaling(self) -> float:
        """The factor of scores."""
        return float((self.products[0].out_features // self.heads) ** -0.5)

    @property
    def approximate(self) -> str | None:
        """How torch's GELU computes the activation; None for another activation."""
        if type(self.activation) is GELUActivation and self.activation.act is gelu:
            return "none"
        return "tanh" if type(self.activation) is NewGELUActivation else None


PARTS: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {  # attention and feed-forward, by a family's layers
    "bert": (
        {
            "products": "attention.self.query attention.self.key attention.self.value attention.output.dense",
            "norm": "attention.output.LayerNorm",
            "heads": "attention.self.num_attention_heads",
            "weights_dropout": "attention.self.dropout",
            "config": "attention.self.config",
            "dropout": "attention.output.dropout",
        },
        {
            "products": "intermediate.dense output.dense",
            "norm": "output.LayerNorm",
            "activation": "intermediate.intermediate_act_fn",
            "dropout": "output.dropout",
        },
    ),
    "distilbert": (
        {
            "products": "attention.q_lin attention.k_lin attention.v_lin attention.out_lin",
            "norm": "sa_layer_norm",
            "heads": "attention.n_heads",
            "weights_dropout": "attention.dropout",
            "config": "attention.config",
        },
        {
            "products": "ffn.lin1 ffn.lin2",
            "norm": "output_layer_norm",
            "activation": "ffn.activation",
            "dropout": "ffn.dropout",
        },
    ),
    "albert": (
        {
            "products": "attention.query attention.key attention.value attention.dense",
            "norm": "attention.LayerNorm",
            "heads": "attention.num_attention_heads",
            "weights_dropout": "attention.attention_dropout",
            "config": "attention.config",
            "dropout": "attention.output_dropout",
        },
        {"products": "ffn ffn_output", "norm": "full_layer_layer_norm", "activation": "activation"},
    ),
}


def take_fast_layers(encoder: PreTrainedModel, *, whole: bool, first: bool) -> None:
    """Computes an encoder's layers by this file, on a CPU as `whole` parts, and of the last the `first` token alone,
    where its family has such layers; its last hidden state is then `(batch, 1, width)`.

    Keys and values still come from all tokens. ALBERT's layer is called several times, so it always has all tokens.
    """
    kind = FAMILIES[encoder.config.model_type].kernels
    if kind not in PARTS:
        return
    # A merged layer is scored as it will be saved, so with LoRA all stay as they are.
    whole = whole and not any(hasattr(module, "lora_A") for module in encoder.modules())
    stack: Any = encoder.transformer if kind == "distilbert" else encoder.encoder
    groups: Any = stack.albert_layer_groups if kind == "albert" else ()
    layers = [layer for group in groups for layer in group.albert_layers] or stack.layer
    for layer in layers:
        alone = first and kind != "albert" and layer is layers[-1]
        if whole or alone:
            layer.forward = partial(_forward, layer, _parts(layer, kind), whole, alone)  # which can be pickled


def _parts(layer: Layer, kind: str) -> list[LayerPart]:
    parts = []
    for names in PARTS[kind]:
        modules: dict[str, Any] = {part: attrgetter(*places.split())(layer) for part, places in names.items()}
        parts.append(LayerPart(**modules))
    return parts


def _forward(
    layer: Layer,
    parts: Sequence[LayerPart],
    whole: bool,
    alone: bool,
    states: Tensor,
    mask: Tensor | None = None,
    *_: Any,
    **named: Any,
) -> Tensor:
    """A layer's output. Long texts, and layers whose tokens read only earlier ones, attend by transformers' code."""
    attends, feeds = parts
    if whole and states.shape[1] <= MOST_IN_TWO and not getattr(layer, "is_decoder", False):
        states = _attended(layer, attends, states, mask, queries=1 if alone else states.shape[1])
    elif alone:
        states = _attended_first(layer, attends, states, mask)
    elif hasattr(layer, "intermediate"):
        states = layer.attention(states, mask, **named)[0]
    else:
        return type(layer).forward(layer, states, mask, **named)  # type: ignore[no-any-return]
    if whole and feeds.approximate is not None:
        passes = FeedForwardPasses(
            approximate=feeds.approximate, dropout=_rate(feeds.dropout, layer), epsilon=feeds.norm.eps
        )
        return computed(passes, (*feeds.products, feeds.norm), states, None)
    return _added(feeds, feeds.products[1](feeds.activation(feeds.products[0](states))), states)


def _attended(layer: Layer, part: LayerPart, states: Tensor, mask: Tensor | None, *, queries: int) -> Tensor:
    passes = AttentionPasses(
        heads=part.heads,
        scaling=part.scaling,
        queries=queries,
        weights_dropout=_rate(part.weights_dropout, layer),
        dropout=_rate(part.dropout, layer),
        epsilon=part.norm.eps,
    )
    mask = None if mask is None else mask[:, :, :queries].clamp(min=MASKED)
    return computed(passes, (*part.products, part.norm), states, mask)


def _attended_first(layer: Layer, part: LayerPart, states: Tensor, mask: Tensor | None) -> Tensor:
    """The first token's vector after attention, the residual and LayerNorm, by torch's operations."""
    first = states[:, :1]
    query, key, value = (
        linear(vectors).unflatten(-1, (part.heads, -1)).transpose(1, 2)
        for linear, vectors in zip(part.products[:3], (first, states, states), strict=True)
    )
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(part.config._attn_implementation, attention)
    rate = _rate(part.weights_dropout, layer)
    mask = mask if mask is None or mask.ndim < 4 else mask[:, :, :1]
    context, _ = attend(layer.attention, query, key, value, mask, dropout=rate, scaling=part.scaling)
    return _added(part, part.products[3](context.flatten(2)), first)


def _added(part: LayerPart, output: Tensor, states: Tensor) -> Tensor:
    return part.norm(states + (output if part.dropout is None else part.dropout(output)))  # type: ignore[no-any-return]


def _rate(dropout: Any, layer: Layer) -> float:
    return dropout.p if dropout is not None and layer.training else 0.0
