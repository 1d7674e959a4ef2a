"""Faster on a CPU: malloc keeps freed memory, products by the faster library, fast dropout, attention in two products.

Measured with benchmarks/cpu_parts.py. The results are the same except for the random numbers of dropout, and for
rounding where another library computes products.
"""

import os
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

from finetune.models.families import FAMILIES
from finetune.models.kernels.dropout import FastDropout
from finetune.models.kernels.dropout import dropout as drop
from finetune.models.kernels.malloc import keep_memory
from finetune.models.kernels.products import take_fast_products

ATTENTION = "finetune_cpu"
COMPILED = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32", "LRU_CACHE_CAPACITY": "16"}
"""How many matrix products, by shape, oneDNN and torch's layer above it keep the compiled code and buffers
of. They read it at their first use; their default, 1,024 each, takes several hundred MB in half precision.
"""
MOST_IN_TWO = 512  # tokens of the longest text whose attention is computed in two products
MASKED = -30_000.0  # a mask that is finite in half precision: a row of padding alone would divide 0 by 0


def speed_up(model: nn.Module, encoder: Any) -> None:
    """Replaces a model's dropout, linear layers and, in supported families, attention by those of this folder."""
    keep_memory()
    for name, count in COMPILED.items():
        os.environ.setdefault(name, count)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Dropout:
                setattr(parent, name, FastDropout(child.p))
    take_fast_products(model)
    family = FAMILIES.get(encoder.config.model_type)
    if family is None or not family.fast_attention:
        return
    register()
    encoder.set_attn_implementation(ATTENTION)


def register() -> None:
    """Gives transformers the attention of this file, under the name that models have in their config."""
    AttentionInterface.register(ATTENTION, attention)
    AttentionMaskInterface.register(ATTENTION, ALL_MASK_ATTENTION_FUNCTIONS["eager"])


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

    torch's fused kernel for CPUs is slower in training, and samples its dropout from torch's generator. Long texts go
    through it where there is no dropout: it keeps no weights of `(length, length)`, 3 GB a layer and text at 8,192.
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
