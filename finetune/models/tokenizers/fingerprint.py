"""A hash of all of a tokenizer that decides token ids, whatever folder it was loaded from."""

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def tokenizer_hash(tokenizer: "PreTrainedTokenizerBase") -> str | None:
    """The sha256 of vocabulary, rules and special tokens; None for a tokenizer written in Python."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    forget_use(tokenizer)
    facts = [
        type(tokenizer).__name__,
        backend.to_str(),
        tokenizer.special_tokens_map,
        tokenizer.model_input_names,
        tokenizer.truncation_side,
        tokenizer.split_special_tokens,
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def forget_use(tokenizer: "PreTrainedTokenizerBase") -> None:
    """Removes what would be saved of the last call (truncation and padding, which transformers sets in each), and
    whether there was a network when it was loaded.
    """
    tokenizer.init_kwargs.pop("local_files_only", None)
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is not None:
        backend.no_truncation()
        backend.no_padding()
