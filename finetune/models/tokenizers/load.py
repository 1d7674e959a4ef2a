"""Loads a folder's tokenizer: transformers' to encode for a model, or one without transformers to inspect texts."""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from finetune.errors import THEIRS, UserError, first_line
from finetune.models.config_bounds import require_config
from finetune.models.tokenizers.sentencepiece import other_pieces, sentencepiece_tokenizer
from finetune.models.tokenizers.template import pair_template

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

AS_THEY_ARE = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that use tokenizer.json unchanged
TABLE = "Precompiled("  # of characters, as `tokenizers` shows SentencePiece's
UNKNOWN = {"WordPiece": "[UNK]", "BPE": "<unk>"}  # by model type, where tokenizer_config.json does not name one
SPECIAL_TOKENS = {"WordPiece": (2, 3), "BPE": (2, 4)}  # around one text and around a pair, of BERT's and RoBERTa's


class TextTokenizer(Protocol):
    """Anything that tokenizes texts: a transformers tokenizer, or a `JsonTokenizer`."""

    @property
    def unk_token_id(self) -> int | None:
        """The id of the unknown token; None where there is none."""

    def __call__(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        """`input_ids` of each text, or of each pair."""

    def convert_ids_to_tokens(self, number: int) -> str:
        """The token of an id."""


def load_tokenizer(folder: Path) -> "PreTrainedTokenizerBase":
    """A model's fast tokenizer. Raises UserError where the folder has none."""
    return read_tokenizer(folder, vocabulary=require_config(folder).get("vocab_size"))


def read_tokenizer(folder: Path, *, vocabulary: int | None = None) -> "PreTrainedTokenizerBase":
    """The fast tokenizer of a folder, for a model with so many tokens. Raises UserError where it has none."""
    try:
        settings = _read(folder / "tokenizer_config.json")
        made = sentencepiece_tokenizer(folder, _read(folder / "config.json"), settings)
        tokenizer = made or _from_transformers(folder)
        fault = tokenizer_fault(tokenizer, vocabulary) or ("" if made else other_pieces(folder, tokenizer))
    except UserError:
        raise
    except THEIRS:
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
    pair_template(tokenizer)  # encodes a pair
    return ""


def load_text_tokenizer(folder: Path) -> TextTokenizer:
    """A tokenizer for token ids only: without importing transformers, where tokenizer.json alone gives the same ids.

    Raises UserError as `load_tokenizer` does.
    """
    light = JsonTokenizer(folder)
    try:
        faithful = light.is_faithful()
    except THEIRS:
        raise
    except Exception:  # the file is not what it should be: the other way reports it
        faithful = False
    return light if faithful else load_tokenizer(folder)


class JsonTokenizer:
    """The tokenizer of tokenizer.json, from the `tokenizers` library; called like those of transformers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self, text: Sequence[str], text_pair: Sequence[str] | None = None, *, add_special_tokens: bool = True, **_: Any
    ) -> dict[str, list[list[int]]]:
        """`input_ids` of each text, or of each pair, never truncated or padded; other arguments are ignored."""
        inputs: list[Any] = list(text) if text_pair is None else list(zip(text, text_pair, strict=True))
        encoded = self._backend.encode_batch_fast(inputs, add_special_tokens=add_special_tokens)
        return {"input_ids": [each.ids for each in encoded]}

    @property
    def unk_token_id(self) -> int | None:
        default = None if self._is_unchanged else UNKNOWN.get(self._kind)
        name = content_of(self._settings.get("unk_token", default))
        return None if name is None else self._backend.token_to_id(name)

    def convert_ids_to_tokens(self, number: int) -> str:
        """The token of an id."""
        return self._backend.id_to_token(number) or ""

    def is_faithful(self) -> bool:
        """Whether transformers, which builds most tokenizers from tokenizer_config.json, gives the same ids."""
        if not self._file or not self._settings or not self._named_tokens() <= self._added_tokens():
            return False
        if {"add_bos_token", "add_eos_token", "split_special_tokens", "auto_map"} & set(self._settings):
            return False
        return self._is_unchanged or (self._is_built_alike() and self._special_tokens() == SPECIAL_TOKENS[self._kind])

    def _is_built_alike(self) -> bool:
        """Whether the file equals what transformers' classes for BERT and RoBERTa build from the settings."""
        given, model, settings = self._file, self._file["model"], self._settings
        if self._kind == "WordPiece":
            normalizer = {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": settings.get("tokenize_chinese_chars", True),
                "strip_accents": settings.get("strip_accents"),
                "lowercase": settings.get("do_lower_case", True),
            }
            plain = (model["continuing_subword_prefix"], model["max_input_chars_per_word"]) == ("##", 100)
            return (
                plain and given["normalizer"] == normalizer and given["pre_tokenizer"] == {"type": "BertPreTokenizer"}
            )
        if self._kind == "BPE":
            cut = given["pre_tokenizer"] or {}
            plain = not (model["continuing_subword_prefix"] or model["end_of_word_suffix"] or model["fuse_unk"])
            spaces = cut.get("add_prefix_space") == settings.get("add_prefix_space", False)
            return plain and spaces and given["normalizer"] is None and cut.get("type") == "ByteLevel"
        return False

    def _special_tokens(self) -> tuple[int, int]:
        one, pair = (self._backend.num_special_tokens_to_add(is_pair) for is_pair in (False, True))
        return one, pair

    def _added_tokens(self) -> set[str]:
        return {token["content"] for token in self._file["added_tokens"]}

    def _named_tokens(self) -> set[str]:
        """The tokens that transformers adds where the file lacks them."""
        named = [value for key, value in self._settings.items() if key.endswith("_token")]
        named += self._settings.get("added_tokens_decoder", {}).values()
        return {name for token in named if (name := content_of(token)) is not None}

    @property
    def _kind(self) -> str:
        return str(self._file["model"].get("type"))

    @property
    def _is_unchanged(self) -> bool:
        return self._settings.get("tokenizer_class") in AS_THEY_ARE

    @cached_property
    def _file(self) -> dict[str, Any]:
        return _read(self.folder / "tokenizer.json")

    @cached_property
    def _settings(self) -> dict[str, Any]:
        return _read(self.folder / "tokenizer_config.json")

    @cached_property
    def _backend(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        backend = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        backend.no_truncation()
        backend.no_padding()
        return backend


def content_of(token: Any) -> str | None:
    """A token's text, which settings give as a string or in a table."""
    return token.get("content") if isinstance(token, dict) else token


def _read(file: Path) -> dict[str, Any]:
    """A JSON table, empty where none can be read: transformers then raises the error."""
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}
