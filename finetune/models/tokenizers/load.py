"""Loads a folder's tokenizer: by transformers, or from tokenizer.json alone, since importing transformers takes a
second, and with torch three. Also adds new tokens, such as markers of spans.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from finetune.data.paths import read_small
from finetune.errors import THEIRS, UserError, as_user_error
from finetune.models.folder_checks import require_config
from finetune.models.tokenizers.encoding import template_of
from finetune.models.tokenizers.sentencepiece import other_pieces, sentencepiece_tokenizer
from finetune.models.tokenizers.train import LATER, LONGEST_WORD, OF_BERT

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TABLE = "Precompiled("  # SentencePiece's table of characters, in the repr of a normalizer
MOST_BYTES = 1 << 28  # of a file of a tokenizer
REMEDY = "The folder needs tokenizer.json, or the vocabulary"


def load_tokenizer(folder: Path) -> "PreTrainedTokenizerBase":
    """A model's fast tokenizer. Raises UserError where the folder has none."""
    return read_tokenizer(folder, vocabulary=require_config(folder).get("vocab_size"))


def read_tokenizer(folder: Path, *, vocabulary: int | None = None) -> "PreTrainedTokenizerBase":
    """The fast tokenizer of a folder, for a model with `vocabulary` embeddings. Raises UserError where it has none."""
    with as_user_error(f"{folder}: the tokenizer cannot be loaded", REMEDY):
        settings = json_table(folder / "tokenizer_config.json")
        from_sentencepiece = sentencepiece_tokenizer(folder, json_table(folder / "config.json"), settings)
        tokenizer = from_sentencepiece or _from_transformers(folder)
        fault = tokenizer_fault(tokenizer, vocabulary) or (
            "" if from_sentencepiece else other_pieces(folder, tokenizer)
        )
    if fault:
        raise UserError(f"{folder}: the tokenizer cannot be loaded ({fault})", REMEDY)
    return tokenizer


def _from_transformers(folder: Path) -> "PreTrainedTokenizerBase":
    """transformers' tokenizer; where it dropped the table of characters that tokenizer.json has (DeBERTa, BigBird), the
    file's: without the table a full-width letter is unknown.
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
    """Why a tokenizer does not fit a model with `vocabulary` embeddings; empty where it does."""
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
    """A JSON table; empty where none can be read, for which transformers raises an error later."""
    try:
        table = json.loads(read_small(file, most=MOST_BYTES))
    except (UserError, OSError, ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def tokenizer_hash(tokenizer: "PreTrainedTokenizerBase") -> str | None:
    """The sha256 of all that decides token ids: vocabulary, rules and special tokens; None for a slow tokenizer."""
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
    """Removes state that would be saved: truncation and padding of the last call, and whether there was a network."""
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


NO_LIMIT = 10**30  # tokens; transformers' number for settings without a limit
SEGMENTS = "token_type_ids"
WITHOUT_SEGMENTS = ("RobertaTokenizer", "DistilBertTokenizer")  # classes, also with `Fast`
UNCHANGED = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that do not change tokenizer.json
OTHERWISE = {"add_bos_token", "add_eos_token", "split_special_tokens", "auto_map"}  # settings that change ids
SPECIAL_TOKENS = {"WordPiece": (2, 3), "BPE": (2, 4)}  # numbers for one text and for a pair, of BERT and RoBERTa
OF_ROBERTA = {
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
NAMES = {"WordPiece": OF_BERT, "BPE": OF_ROBERTA}  # special tokens, where tokenizer_config.json names none


class EncodedBatch(dict[str, Any]):
    """Ids, segments and other outputs by name, as transformers returns them; `encodings` are the library's objects."""

    encodings: Sequence[Any]

    def sequence_ids(self, index: int) -> list[int | None]:
        """For each token 0 (first text), 1 (second text) or None (special token)."""
        return list(self.encodings[index].sequence_ids)


class FastTokenizer:
    """Encodes as transformers' tokenizer, for folders whose tokenizer.json alone gives the same ids (`is_faithful`).

    It has the ids of special tokens, such as `pad_token_id`. Raises any error of the library for damaged files.
    """

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._settings = settings = json_table(folder / "tokenizer_config.json")
        self._file = json_table(folder / "tokenizer.json")
        self._kind = str(self._file["model"].get("type"))
        name = str(settings.get("tokenizer_class", ""))
        self._is_unchanged = name in UNCHANGED
        self._backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._backend.no_padding()
        self._lock = Lock()  # truncation is a state of the library's object
        names = {} if self._is_unchanged else NAMES.get(self._kind, {})
        for key in OF_BERT:
            token = content_of(settings.get(key, names.get(key)))
            setattr(self, f"{key}_id", None if token is None else self._backend.token_to_id(token))
        segments = [SEGMENTS] * (name.removesuffix("Fast") not in WITHOUT_SEGMENTS)
        self.model_input_names = settings.get("model_input_names", ["input_ids", *segments, "attention_mask"])
        self.model_max_length = settings.get("model_max_length", NO_LIMIT)

    def get_vocab(self) -> dict[str, int]:
        """All tokens with their ids."""
        return dict(self._backend.get_vocab(with_added_tokens=True))

    def get_added_vocab(self) -> dict[str, int]:
        """The tokens that are found in a text before it is split, with their ids."""
        return {token.content: number for number, token in self._backend.get_added_tokens_decoder().items()}

    def convert_ids_to_tokens(self, number: int) -> str:
        """The token of an id."""
        return self._backend.id_to_token(number) or ""

    def __call__(
        self,
        text: str | Sequence[str],
        text_pair: str | Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: bool = False,
        max_length: int | None = None,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        **_: Any,
    ) -> EncodedBatch:
        """As transformers' call; of a pair the longer text is truncated first."""
        if isinstance(text, str):
            inputs: list[Any] = [text if text_pair is None else (text, text_pair)]
        else:
            inputs = list(text) if text_pair is None else list(zip(text, text_pair, strict=True))
        with self._lock:
            self._backend.no_truncation()
            if truncation and max_length is not None:
                side = self._settings.get("truncation_side", "right")
                self._backend.enable_truncation(max_length, strategy="longest_first", direction=side)
            encodings = self._backend.encode_batch(inputs, add_special_tokens=add_special_tokens)
        wanted = {
            "input_ids": "ids",
            **({SEGMENTS: "type_ids"} if SEGMENTS in self.model_input_names else {}),
            **({"special_tokens_mask": "special_tokens_mask"} if return_special_tokens_mask else {}),
            **({"offset_mapping": "offsets"} if return_offsets_mapping else {}),
        }
        columns = {name: [getattr(encoding, part) for encoding in encodings] for name, part in wanted.items()}
        batch = EncodedBatch(
            {name: column[0] for name, column in columns.items()} if isinstance(text, str) else columns
        )
        batch.encodings = encodings
        return batch

    def is_faithful(self) -> bool:
        """Whether transformers, which builds most tokenizers from tokenizer_config.json, gives the same ids."""
        settings, file, model = self._settings, self._file, self._file["model"]
        tokens = [value for key, value in settings.items() if key.endswith("_token")]
        tokens += settings.get("added_tokens_decoder", {}).values()  # transformers adds those that the file lacks
        added = {token["content"] for token in file["added_tokens"]}
        if not settings or not {*map(content_of, tokens)} - {None} <= added or OTHERWISE & {*settings}:
            return False
        if self._is_unchanged:
            return True
        if tuple(map(self._backend.num_special_tokens_to_add, (False, True))) != SPECIAL_TOKENS.get(self._kind):
            return False
        splitter = file["pre_tokenizer"] or {}  # as transformers' classes for BERT and RoBERTa build it
        if self._kind == "BPE":
            spaces = splitter.get("add_prefix_space") == settings.get("add_prefix_space", False)
            plain = not (model["continuing_subword_prefix"] or model["end_of_word_suffix"] or model["fuse_unk"])
            return plain and spaces and file["normalizer"] is None and splitter.get("type") == "ByteLevel"
        normalizer = {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": settings.get("tokenize_chinese_chars", True),
            "strip_accents": settings.get("strip_accents"),
            "lowercase": settings.get("do_lower_case", True),
        }
        plain = (model["continuing_subword_prefix"], model["max_input_chars_per_word"]) == (LATER, LONGEST_WORD)
        return plain and file["normalizer"] == normalizer and splitter == {"type": "BertPreTokenizer"}


def load_fast_tokenizer(folder: Path) -> Any:
    """A model's tokenizer to encode with; without transformers, if tokenizer.json alone gives the same ids.

    Raises UserError as `load_tokenizer` does.
    """
    try:
        tokenizer = FastTokenizer(folder)
        if tokenizer.is_faithful() and not tokenizer_fault(tokenizer, require_config(folder).get("vocab_size")):
            return tokenizer
    except THEIRS:
        raise
    except Exception:  # transformers reports what is wrong with the files
        pass
    return load_tokenizer(folder)
