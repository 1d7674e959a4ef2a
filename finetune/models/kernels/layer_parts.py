"""The parts of an encoder's layer that are computed as functions of their own, by the names that families give them.

Attention ends with its output product, feed-forward has two products with GELU between them; both end with dropout, the
residual and LayerNorm. RoBERTa and others have BERT's names; BigBird and DeBERTa-v2 its feed-forward part alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from torch import nn
from torch.nn.functional import gelu
from transformers.activations import GELUActivation, NewGELUActivation

from finetune.models.kernels import cpu

Layer = Any  # of transformers


@dataclass(frozen=True, kw_only=True)
class AttentionParts:
    """The products to query, key, value and output, and what else it consists of.

    `own_scaling` is the factor of scores where a layer keeps it, `config` that of an encoder whose attention can be
    another function.
    """

    products: Sequence[Any]
    norm: Any
    heads: int
    weights_dropout: Any
    dropout: Any = None
    own_scaling: float | None = None
    config: Any = None

    @property
    def scaling(self) -> float:
        """The factor of scores."""
        return self.own_scaling or (self.products[0].out_features // self.heads) ** -0.5

    @property
    def recorded(self) -> bool:
        """Whether something else is to read the weights."""
        return self.config is not None and self.config._attn_implementation != cpu.ATTENTION


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


ATTENTION: Sequence[Mapping[str, str]] = (  # where a layer has its parts: BERT, DistilBERT, ALBERT, MPNet
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
        "own_scaling": "attention.scaling",
        "config": "attention.config",
    },
    {
        "products": "attention.query attention.key attention.value attention.dense",
        "norm": "attention.LayerNorm",
        "heads": "attention.num_attention_heads",
        "weights_dropout": "attention.attention_dropout",
        "dropout": "attention.output_dropout",
        "own_scaling": "attention.scaling",
        "config": "attention.config",
    },
    {
        "products": "attention.attn.q attention.attn.k attention.attn.v attention.attn.o",
        "norm": "attention.LayerNorm",
        "heads": "attention.attn.num_attention_heads",
        "weights_dropout": "attention.attn.dropout",
        "dropout": "attention.dropout",
    },
)
FEED_FORWARD: Sequence[Mapping[str, str]] = (  # BERT and MPNet, DistilBERT, ALBERT
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


def attention_of(layer: Layer) -> AttentionParts | None:
    """A layer's attention; None where a part is another, as with LoRA or rotated positions."""
    found = named_attention(layer)
    return found if found and _are_plain(found) and not getattr(layer, "is_decoder", False) else None


def feed_forward_of(layer: Layer) -> FeedForwardParts | None:
    """A layer's feed-forward part; None where a part is another."""
    found = named_feed_forward(layer)
    return found if found and found.approximate and _are_plain(found) else None


def named_attention(layer: Layer) -> AttentionParts | None:
    """A layer's attention, whatever its parts are; None without these names."""
    found = _named(layer, ATTENTION)
    return found and AttentionParts(**found)


def named_feed_forward(layer: Layer) -> FeedForwardParts | None:
    """A layer's feed-forward part, whatever its parts are; None without these names."""
    found = _named(layer, FEED_FORWARD)
    return found and FeedForwardParts(**found)


def _named(layer: Layer, families: Sequence[Mapping[str, str]]) -> Any:
    """The parts under the first names that a layer has all of; None without."""
    for names in families:
        try:
            return {part: attrgetter(*places.split())(layer) for part, places in names.items()}
        except AttributeError:
            continue
    return None


def _are_plain(part: AttentionParts | FeedForwardParts) -> bool:
    products = all(type(each) is nn.Linear and each.bias is not None for each in part.products)
    drops = [getattr(part, name, None) for name in ("weights_dropout", "dropout")]
    plain = all(each is None or isinstance(each, nn.Dropout) for each in drops)
    return products and plain and type(part.norm) is nn.LayerNorm
