"""Tiny random encoders of every family."""

from typing import Any

from measuring import encoder_config
from transformers import CONFIG_MAPPING, PretrainedConfig

CONFIGS: dict[str, dict[str, Any]] = {  # what a type needs besides sizes
    "big_bird": {"block_size": 4, "num_random_blocks": 1},  # its sparse attention begins above 28 tokens
    "longformer": {"attention_window": 8, "sep_token_id": 3},
}


def tiny(kind: str, *, padding: int) -> PretrainedConfig:
    """The config of a tiny encoder of a type, whose padding token has the id `padding`."""
    more = {"max_position_embeddings": 40, "vocab_size": 100, "pad_token_id": padding}
    if hasattr(CONFIG_MAPPING[kind](), "embedding_size"):
        more["embedding_size"] = 16
    shape = {"width": 32, "inner": 64, "layers": 2, "heads": 2}
    return encoder_config(kind, shape, **more, **CONFIGS.get(kind, {}))
