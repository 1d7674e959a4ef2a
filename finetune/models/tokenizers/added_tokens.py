"""New tokens, such as the markers of spans: in a tokenizer, and in an encoder's embeddings."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from finetune.errors import THEIRS, UserError, first_line
from finetune.models.tokenizers.load import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def add_tokens(tokenizer: "PreTrainedTokenizerBase", tokens: Sequence[str]) -> list[str]:
    """Adds those of some tokens that a tokenizer lacks, and returns them."""
    from transformers import AddedToken

    known = tokenizer.get_vocab()
    new = [token for token in tokens if token not in known]
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in new])
    return new


def grow_embeddings(encoder: "PreTrainedModel", folder: Path, tokens: Sequence[str]) -> list[str]:
    """Gives each token that an encoder's own tokenizer lacks a vector near the mean of the pieces that it was before.

    Returns these tokens. So each means something where embeddings are frozen. The noise, by torch's seed, tells apart
    tokens of the same pieces. Raises UserError for an encoder whose embeddings cannot grow.
    """
    if not tokens:
        return []
    own, grown = load_tokenizer(folder), load_tokenizer(folder)
    new = add_tokens(grown, tokens)
    if not new:
        return []
    try:
        encoder.resize_token_embeddings(max(len(grown), encoder.config.vocab_size), mean_resizing=False)
        vectors = encoder.get_input_embeddings().weight
    except THEIRS:
        raise
    except Exception as error:  # an encoder of characters or bytes has no such embeddings
        raise UserError(
            f"encoders of type '{encoder.config.model_type}' take no new tokens ({first_line(error)})",
            "Choose an encoder of another type, such as bert",
        ) from error
    spread = getattr(encoder.config, "initializer_range", 0.02)
    with torch.no_grad():
        for token in new:
            mean = vectors[own(token, add_special_tokens=False)["input_ids"]].mean(0)
            vectors[grown.convert_tokens_to_ids(token)] = mean + spread * torch.randn_like(mean)
    return new
