"""Tiny random encoders of every family, and batches for them."""

from collections.abc import Sequence
from typing import Any

import torch
from measuring import encoder_config
from transformers import CONFIG_MAPPING, PretrainedConfig

from finetune.models.batch import Batch
from finetune.models.families import takes_segments

POSITIONS, VOCABULARY, SEPARATOR = 40, 100, 3
CONFIGS: dict[str, dict[str, Any]] = {  # what a type needs besides sizes
    "big_bird": {"block_size": 4, "num_random_blocks": 1},  # its sparse attention begins above 28 tokens
    "longformer": {"attention_window": 8, "sep_token_id": SEPARATOR},
}


def tiny(kind: str, *, padding: int) -> PretrainedConfig:
    """The config of a tiny encoder of a type, whose padding token has the id `padding`."""
    more = {"max_position_embeddings": POSITIONS, "vocab_size": VOCABULARY, "pad_token_id": padding}
    if hasattr(CONFIG_MAPPING[kind](), "embedding_size"):
        more["embedding_size"] = 16
    shape = {"width": 32, "inner": 64, "layers": 2, "heads": 2}
    return encoder_config(kind, shape, **more, **CONFIGS.get(kind, {}))


def batch_of(config: PretrainedConfig, lengths: Sequence[int]) -> Batch:
    """Pairs of so many tokens, at least 5, padded on the right.

    As in RoBERTa's, two separators are between the texts and one at the end, by which Longformer finds the question.
    """
    torch.manual_seed(1)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()
    ids = torch.where(mask > 0, torch.randint(4, VOCABULARY - 1, mask.shape), config.pad_token_id)
    for row, length in enumerate(lengths):
        ids[row, [2, 3, length - 1]] = SEPARATOR
    segments = mask * (torch.arange(max(lengths)) > 2) if takes_segments(config) else None
    return Batch(ids, mask, segments)
