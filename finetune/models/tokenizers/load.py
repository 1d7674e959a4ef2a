"""Loads a folder's tokenizer by transformers; what decides its token ids, and new tokens, such as markers of spans."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.paths import read_small
from finetune.errors import UserError, as_user_error
from finetune.models.folder_checks import require_config
from finetune.models.tokenizers.encoding import template_of
from finetune.models.tokenizers.sentencepiece import other_pieces, sentencepiece_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TABLE = "Precompiled("  # of characters, as `tokenizers` shows SentencePiece's
MOST_BYTES = 1 << 28  # of a file of a tokenizer
REMEDY = "The folder needs tokenizer.json, or the vocabulary"


def load_tokenizer(folder: Path) -> "PreTrainedTokenizerBase":
    """A model's fast tokenizer. Raises UserError where the folder has none."""
    return read_tokenizer(folder, vocabulary=require_config(folder).get("vocab_size"))


def read_tokenizer(folder: Path, *, vocabulary: int | None = None) -> "PreTrainedTokenizerBase":
    """The fast tokenizer of a folder, for a model with so many tokens. Raises UserError where it has none."""
    with as_user_error(f"{folder}: the tokenizer cannot be loaded", REMEDY):
        settings = json_table(folder / "tokenizer_config.json")
        made = sentencepiece_tokenizer(folder, json_table(folder / "config.json"), settings)
        tokenizer = made or _from_transformers(folder)
        fault = tokenizer_fault(tokenizer, vocabulary) or ("" if made else other_pieces(folder, tokenizer))
    if fault:
        raise UserError(f"{folder}: the tokenizer cannot be loaded ({fault})", REMEDY)
    return tokenizer


def _from_transformers(folder: Path) -> "PreTrainedTokenizerBase":
    """Of those that transformers builds without their file's table of characters, as DeBERTa's and BigBird's, what is
    in the file: a full-width letter would be unknown.
    """
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    built, file = tokenizer.backend_tokenizer, folder / "tokenizer.json"
    lacks_table = type(built.model).__name__ == "Unigram" and TABLE not in repr(built.normalizer) and file.is_file()
    if not lacks_table or TABLE not in repr(Tokenizer.from_file(str(file)).normalizer):
        return tokenizer
    names = tokenizer.model_input_names
    return PreTrainedTokenizerFast.from_pretrained(folder, model_input_names=names, **tokenizer.special_tokens_map)


def tokenizer_fault(tokenizer: Any, vocabulary: int | None) -> str:
    """Why a tokenizer does not fit its model, whose embeddings have rows for so many tokens; empty where it does."""
    if not isinstance(tokenizer.model_max_length, int | float) or tokenizer.model_max_length < 1:
        return f"model_max_length is {str(tokenizer.model_max_length)[:40]}"
    if tokenizer.pad_token_id is None:
        return "it has no padding token"
    last = max(tokenizer.get_vocab().values(), default=0)
    if vocabulary is not None and last >= vocabulary:
        return f"its ids go up to {last:,}, and the model has {vocabulary:,} tokens"
    template_of(tokenizer)  # encodes a pair
    return ""


def content_of(token: Any) -> str | None:
    """A token's text, which settings give as a string or in a table."""
    return token.get("content") if isinstance(token, dict) else token


def json_table(file: Path) -> dict[str, Any]:
    """A JSON table, empty where none can be read: transformers then raises the error."""
    try:
        table = json.loads(read_small(file, most=MOST_BYTES))
    except (UserError, OSError, ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def tokenizer_hash(tokenizer: "PreTrainedTokenizerBase") -> str | None:
    """The sha256 of all that decides token ids, whatever folder it is from: vocabulary, rules and special tokens; None
    for a tokenizer written in Python.
    """
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


def add_tokens(tokenizer: "PreTrainedTokenizerBase", tokens: Sequence[str]) -> list[str]:
    """Adds the tokens that a tokenizer lacks, and returns them."""
    from transformers import AddedToken

    vocabulary = tokenizer.get_vocab()
    new = [token for token in tokens if token not in vocabulary]
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in new])
    return new
