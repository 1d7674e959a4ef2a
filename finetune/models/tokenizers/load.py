"""Loads a folder's tokenizer by transformers."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.errors import THEIRS, UserError, first_line
from finetune.models.config_bounds import require_config
from finetune.models.tokenizers.sentencepiece import other_pieces, sentencepiece_tokenizer
from finetune.models.tokenizers.template import template_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TABLE = "Precompiled("  # of characters, as `tokenizers` shows SentencePiece's


def load_tokenizer(folder: Path) -> "PreTrainedTokenizerBase":
    """A model's fast tokenizer. Raises UserError where the folder has none."""
    return read_tokenizer(folder, vocabulary=require_config(folder).get("vocab_size"))


def read_tokenizer(folder: Path, *, vocabulary: int | None = None) -> "PreTrainedTokenizerBase":
    """The fast tokenizer of a folder, for a model with so many tokens. Raises UserError where it has none."""
    try:
        settings = json_table(folder / "tokenizer_config.json")
        made = sentencepiece_tokenizer(folder, json_table(folder / "config.json"), settings)
        tokenizer = made or _from_transformers(folder)
        fault = tokenizer_fault(tokenizer, vocabulary) or ("" if made else other_pieces(folder, tokenizer))
    except (UserError, *THEIRS):
        raise
    except Exception as error:  # files of a wrong type make transformers and tokenizers fail in any way
        fault = first_line(error)
    if fault:
        raise UserError(
            f"{folder}: the tokenizer cannot be loaded ({fault})", "The folder needs tokenizer.json, or the vocabulary"
        )
    return tokenizer


def _from_transformers(folder: Path) -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    if _lost_characters(tokenizer, folder / "tokenizer.json"):
        return PreTrainedTokenizerFast.from_pretrained(
            folder, model_input_names=tokenizer.model_input_names, **tokenizer.special_tokens_map
        )
    return tokenizer


def _lost_characters(tokenizer: "PreTrainedTokenizerBase", file: Path) -> bool:
    """Whether transformers built a tokenizer without its file's table of characters, as those of DeBERTa and BigBird:
    a full-width letter would be unknown.
    """
    from tokenizers import Tokenizer

    built = tokenizer.backend_tokenizer
    if type(built.model).__name__ != "Unigram" or TABLE in repr(built.normalizer) or not file.is_file():
        return False
    return TABLE in repr(Tokenizer.from_file(str(file)).normalizer)


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
        table = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}
