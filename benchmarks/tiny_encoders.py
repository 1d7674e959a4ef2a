"""Tiny random encoders of every type in transformers' mapping of masked language models, and batches for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import (
    CONFIG_MAPPING,
    AutoModel,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from finetune.models.batch import Batch
from finetune.models.families import takes_segments
from finetune.models.feature import padded

TYPES = tuple(MODEL_FOR_MASKED_LM_MAPPING_NAMES)
POSITIONS, VOCABULARY, SEPARATOR = 40, 100, 3


def sizes(*, width: int, inner: int, layers: int, heads: int) -> dict[str, int]:
    """A shape under the names that configs have for it; `inner` is the width within the feed-forward layers."""
    return {
        **dict.fromkeys(("hidden_size", "d_model", "dim", "emb_dim"), width),
        **dict.fromkeys(("intermediate_size", "hidden_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim"), inner),
        **dict.fromkeys(("num_hidden_layers", "n_layers", "encoder_layers", "decoder_layers"), layers),
        **dict.fromkeys(("num_attention_heads", "n_heads", "num_key_value_heads"), heads),
        **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), heads),
    }


SIZES = {
    **sizes(width=32, inner=64, layers=2, heads=2),
    "embedding_size": 16,
    "max_position_embeddings": POSITIONS,
    "vocab_size": VOCABULARY,
}
CONFIGS: dict[str, dict[str, Any]] = {  # what a type needs besides SIZES
    "big_bird": {"block_size": 4, "num_random_blocks": 1},  # its sparse attention begins above 28 tokens
    "esm": {"mask_token_id": 2},
    "luke": {"entity_vocab_size": 20, "entity_emb_size": 16},
    "mobilebert": {"embedding_size": 32, "intra_bottleneck_size": 16, "true_hidden_size": 16},
    "layoutlm": {"max_2d_position_embeddings": 16},
    "squeezebert": {
        "embedding_size": 32,
        **dict.fromkeys(("q_groups", "k_groups", "v_groups", "post_attention_groups"), 1),
        **dict.fromkeys(("intermediate_groups", "output_groups"), 1),
    },
    "longformer": {"attention_window": 8, "sep_token_id": SEPARATOR},
    "xmod": {"languages": ["en"], "default_language": "en"},
    "tapas": {"type_vocab_sizes": [3, 4, 4, 2, 4, 4, 4]},
    "roc_bert": {"pronunciation_vocab_size": 20, "shape_vocab_size": 20},
    "reformer": {"axial_pos_shape": (5, 8), "axial_pos_embds_dim": (16, 16), "attention_head_size": 16},
    "funnel": {"block_sizes": [1, 1], "n_head": 2, "d_head": 16, "d_inner": 64, "architectures": ["FunnelModel"]},
}


def tiny(kind: str, *, padding: int) -> PretrainedConfig:
    """The config of a tiny encoder of a type, whose padding token has the id `padding`."""
    return config_of(kind, SIZES, {"pad_token_id": padding} | CONFIGS.get(kind, {}))


def config_of(kind: str, wanted: dict[str, int], others: dict[str, Any]) -> PretrainedConfig:
    """The config of a type with what it knows of the wanted sizes, and with others."""
    declared = CONFIG_MAPPING[kind]
    known = set(declared().to_dict()) | set(declared.attribute_map)
    return declared(**{name: value for name, value in wanted.items() if name in known} | others)


def save_random(config: PretrainedConfig, folder: Path) -> None:
    """Saves an encoder with weights of which none is 0 or 1, so that a layer that is left out shows."""
    torch.manual_seed(0)
    encoder: PreTrainedModel = AutoModel.from_config(config)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    encoder.save_pretrained(folder)


def batch_of(config: PretrainedConfig, lengths: Sequence[int], *, counts: Sequence[int] | None = None) -> Batch:
    """Pairs of so many tokens, at least 5, padded on the right; `counts` says how many choices each row has.

    As in RoBERTa's, two separators are between the texts and one at the end, by which Longformer finds the question.
    """
    torch.manual_seed(1)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()
    ids = torch.where(mask > 0, torch.randint(4, VOCABULARY - 1, mask.shape), config.pad_token_id)
    for row, length in enumerate(lengths):
        ids[row, [2, 3, length - 1]] = SEPARATOR
    segments = mask * (torch.arange(max(lengths)) > 2) if takes_segments(config) else None
    if counts is None:
        return Batch(ids, mask, segments)
    ends = np.cumsum(counts)
    places = padded([range(end - count, end) for end, count in zip(ends, counts, strict=True)], -1)
    return Batch(ids, mask, segments, torch.from_numpy(places))


def tokenizer() -> PreTrainedTokenizerBase:
    """A tokenizer, since a model is saved with one."""
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
