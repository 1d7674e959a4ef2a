"""Keeps DeBERTa's attention in the precision of its batch.

Its biases are parameters in fp32 that are added to queries in half precision, which makes these fp32; the scores of
the attention are in half precision again, and the smallest number of fp32 that masks them does not fit.
"""

from functools import partial

import torch
from torch import Tensor
from transformers import PreTrainedModel


def stay_in_half_precision(encoder: PreTrainedModel) -> None:
    """Makes an encoder's biases of queries and values take the precision of autocast, where there are any."""
    for module in encoder.modules():
        if hasattr(module, "q_bias") and hasattr(module, "transpose_for_scores"):
            module.transpose_for_scores = partial(_by_head, module.num_attention_heads)  # which can be pickled


def _by_head(heads: int, vectors: Tensor) -> Tensor:
    """`(batch, length, heads * width)` as `(batch, heads, length, width)`."""
    device = vectors.device.type
    if torch.is_autocast_enabled(device):
        vectors = vectors.to(torch.get_autocast_dtype(device))
    return vectors.view(*vectors.shape[:-1], heads, -1).transpose(1, 2)
