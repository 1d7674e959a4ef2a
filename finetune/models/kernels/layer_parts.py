"""The parts of an encoder's layer that are computed as functions of their own, by the names that families give them.

Attention ends with its output product, feed-forward has two products with GELU between them; both end with dropout, the
residual and LayerNorm. RoBERTa and others have BERT's names; BigBird and DeBERTa-v2 its feed-forward part alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.nn.functional import gelu
from transformers.activations import GELUActivation, NewGELUActivation

from finetune.models.kernels import cpu

Layer = Any  # of transformers


@dataclass(frozen=True, kw_only=True)
class AttentionParts:
    """The products to query, key, value and output, and what else it consists of; `recorded` for its weights."""

    products: Sequence[Any]
    norm: Any
    heads: int
    scaling: float
    weights_dropout: Any
    dropout: Any = None
    recorded: bool = False


@dataclass(frozen=True, kw_only=True)
class FeedForwardParts:
    """Both products, what is between and after them."""

    products: Sequence[Any]
    norm: Any
    activation: Any
    dropout: Any = None

    @property
    def approximate(self) -> str | None:
        """How torch's GELU computes the activation; None for another activation."""
        if type(self.activation) is GELUActivation and self.activation.act is gelu:
            return "none"
        return "tanh" if type(self.activation) is NewGELUActivation else None


def attention_of(layer: Layer) -> AttentionParts | None:
    """A layer's attention; None where a part is another, as with LoRA or rotated positions."""
    found = _first(layer, (_attention_of_bert, _attention_of_distilbert, _attention_of_albert, _attention_of_mpnet))
    return found if found and found.scaling and _are_plain(found) and not getattr(layer, "is_decoder", False) else None


def feed_forward_of(layer: Layer) -> FeedForwardParts | None:
    """A layer's feed-forward part; None where a part is another."""
    found = _first(layer, (_feed_forward_of_bert, _feed_forward_of_distilbert, _feed_forward_of_albert))
    return found if found and found.approximate and _are_plain(found) else None


def _first(layer: Layer, readers: Sequence[Callable[[Layer], Any]]) -> Any:
    """The parts under the first names that a layer has."""
    for read in readers:
        try:
            return read(layer)
        except AttributeError:
            continue
    return None


def _are_plain(part: AttentionParts | FeedForwardParts) -> bool:
    products = all(type(each) is nn.Linear and each.bias is not None for each in part.products)
    drops = [getattr(part, name, None) for name in ("weights_dropout", "dropout")]
    plain = all(each is None or isinstance(each, nn.Dropout) for each in drops)
    return products and plain and type(part.norm) is nn.LayerNorm


def _attention_of_bert(layer: Layer) -> AttentionParts:
    inner, output = layer.attention.self, layer.attention.output
    return AttentionParts(
        products=[inner.query, inner.key, inner.value, output.dense],
        norm=output.LayerNorm,
        heads=inner.num_attention_heads,
        scaling=inner.scaling,
        weights_dropout=inner.dropout,
        dropout=output.dropout,
        recorded=inner.config._attn_implementation != cpu.ATTENTION,
    )


def _attention_of_distilbert(layer: Layer) -> AttentionParts:
    inner = layer.attention
    return AttentionParts(
        products=[inner.q_lin, inner.k_lin, inner.v_lin, inner.out_lin],
        norm=layer.sa_layer_norm,
        heads=inner.n_heads,
        scaling=inner.scaling,
        weights_dropout=inner.dropout,
        recorded=inner.config._attn_implementation != cpu.ATTENTION,
    )


def _attention_of_albert(layer: Layer) -> AttentionParts:
    inner = layer.attention
    return AttentionParts(
        products=[inner.query, inner.key, inner.value, inner.dense],
        norm=inner.LayerNorm,
        heads=inner.num_attention_heads,
        scaling=inner.scaling,
        weights_dropout=inner.attention_dropout,
        dropout=inner.output_dropout,
        recorded=inner.config._attn_implementation != cpu.ATTENTION,
    )


def _attention_of_mpnet(layer: Layer) -> AttentionParts:
    inner = layer.attention.attn
    return AttentionParts(
        products=[inner.q, inner.k, inner.v, inner.o],
        norm=layer.attention.LayerNorm,
        heads=inner.num_attention_heads,
        scaling=inner.attention_head_size**-0.5,
        weights_dropout=inner.dropout,
        dropout=layer.attention.dropout,
    )


def _feed_forward_of_bert(layer: Layer) -> FeedForwardParts:
    return FeedForwardParts(
        products=[layer.intermediate.dense, layer.output.dense],
        norm=layer.output.LayerNorm,
        activation=layer.intermediate.intermediate_act_fn,
        dropout=layer.output.dropout,
    )


def _feed_forward_of_distilbert(layer: Layer) -> FeedForwardParts:
    inner = layer.ffn
    return FeedForwardParts(
        products=[inner.lin1, inner.lin2],
        norm=layer.output_layer_norm,
        activation=inner.activation,
        dropout=inner.dropout,
    )


def _feed_forward_of_albert(layer: Layer) -> FeedForwardParts:
    return FeedForwardParts(
        products=[layer.ffn, layer.ffn_output], norm=layer.full_layer_layer_norm, activation=layer.activation
    )
