"""Attention: in two products on a CPU, without waiting for a GPU, and DeBERTa's in bf16.

On a GPU transformers asks for each batch whether a mask hides anything: the CPU waits for the answer, which a CUDA
graph cannot do. Here the mask is always made.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

from finetune.models.kernels.dropout import dropout as drop

ON_CPU, ON_CUDA = "finetune_cpu", "finetune_cuda"  # names in a model's config
MOST_IN_TWO = 512  # tokens of the longest text whose attention is computed in two products
MASKED = -30_000.0  # a mask that is finite in half precision: a row of padding alone would divide 0 by 0


def register_attention() -> None:
    """Gives transformers both attentions, under the names that models have in their config."""
    AttentionInterface.register(ON_CPU, attention)
    AttentionMaskInterface.register(ON_CPU, ALL_MASK_ATTENTION_FUNCTIONS["eager"])
    AttentionInterface.register(ON_CUDA, sdpa_attention_forward)
    AttentionMaskInterface.register(ON_CUDA, _whole_mask)


def attention(
    module: nn.Module,  # noqa: ARG001
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float = 1.0,
    **_: Any,
) -> tuple[Tensor, None]:
    """Scaled dot-product attention: `(batch, heads, length, width)` to `(batch, length, heads, width)` in two products.

    torch's fused kernel for CPUs is slower in training, and draws dropout from torch's generator. Long texts without
    dropout go through it: it stores no weights `(length, length)`, 3 GB a layer and text at 8,192 tokens.
    """
    if query.shape[2] > MOST_IN_TWO and not dropout:
        mask = None if attention_mask is None else attention_mask.clamp(min=MASKED)
        fused = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)
        return fused.transpose(1, 2), None
    weights = torch.matmul(query * scaling, key.transpose(2, 3))
    if attention_mask is not None:
        weights = weights + attention_mask
    weights = torch.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
    if dropout > 0:
        weights = drop(weights, dropout)
    return torch.matmul(weights, value).transpose(1, 2), None


def _whole_mask(*arguments: Any, **named: Any) -> Tensor | None:
    named |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return ALL_MASK_ATTENTION_FUNCTIONS["sdpa"](*arguments, **named)  # type: ignore[no-any-return]


def stay_in_half_precision(encoder: PreTrainedModel) -> None:
    """Makes the biases of DeBERTa's queries and values take the precision of autocast.

    Biases in fp32 make the queries fp32, so its mask gets a number that overflows in the half precision of the scores.
    """
    for module in encoder.modules():
        if hasattr(module, "q_bias") and hasattr(module, "transpose_for_scores"):
            module.transpose_for_scores = partial(_by_head, module.num_attention_heads)  # unlike a lambda, it pickles


def _by_head(heads: int, vectors: Tensor) -> Tensor:
    """`(batch, length, heads * width)` as `(batch, heads, length, width)`."""
    device = vectors.device.type
    if torch.is_autocast_enabled(device):
        vectors = vectors.to(torch.get_autocast_dtype(device))
    return vectors.view(*vectors.shape[:-1], heads, -1).transpose(1, 2)
