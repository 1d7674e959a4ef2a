"""Attention on a GPU that waits for nothing: transformers reads there whether a mask hides anything, in each batch.

Reading it makes the CPU wait for the GPU, and a CUDA graph cannot hold it. Here the mask is always made.
"""

from typing import Any

from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

ATTENTION = "finetune_cuda"


def wait_for_nothing(encoder: Any) -> None:
    """Sets the attention of an encoder that computes it by torch's fused kernels."""
    if getattr(encoder.config, "_attn_implementation", "") == "sdpa":
        register_attention()
        encoder.set_attn_implementation(ATTENTION)


def register_attention() -> None:
    """Gives transformers this attention, under the name that models have in their config."""
    AttentionInterface.register(ATTENTION, sdpa_attention_forward)
    AttentionMaskInterface.register(ATTENTION, _mask)


def _mask(*given: Any, **named: Any) -> Tensor | None:
    """The mask `(batch, 1, queries, keys)` of what is attended to."""
    named |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    mask: Tensor | None = ALL_MASK_ATTENTION_FUNCTIONS["sdpa"](*given, **named)
    return mask
