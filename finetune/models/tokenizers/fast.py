"""A tokenizer to encode with, from tokenizer.json alone: importing transformers takes a second, with torch three."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from finetune.errors import THEIRS
from finetune.models.config_bounds import require_config
from finetune.models.tokenizers.load import content_of, json_table, load_tokenizer, tokenizer_fault

if TYPE_CHECKING:
    from tokenizers import Encoding

NO_LIMIT = 10**30  # tokens, where the settings name none; transformers' number
IDS, SEGMENTS, MASK = "input_ids", "token_type_ids", "attention_mask"
OFTEN = (IDS, SEGMENTS, MASK)
WITHOUT_SEGMENTS = ("RobertaTokenizer", "DistilBertTokenizer")  # classes, also with `Fast`
AS_THEY_ARE = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that use tokenizer.json unchanged
OTHERWISE = {"add_bos_token", "add_eos_token", "split_special_tokens", "auto_map"}  # settings that change the ids
SPECIAL_TOKENS = {"WordPiece": (2, 3), "BPE": (2, 4)}  # around one text and around a pair, of BERT's and RoBERTa's
NAMES = {  # of special tokens by model type, where tokenizer_config.json names none
    "WordPiece": {"cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]", "unk": "[UNK]"},
    "BPE": {"cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>", "unk": "<unk>"},
}


class EncodedBatch(dict[str, Any]):
    """Ids, segments and what else was asked for, by name; `encodings` are those of the library."""

    def __init__(self, values: dict[str, Any], encodings: "Sequence[Encoding]") -> None:
        super().__init__(values)
        self.encodings = encodings

    def sequence_ids(self, index: int) -> list[int | None]:
        """Of each token of an encoding whether it is of the first text or of the second; None for special tokens."""
        return list(self.encodings[index].sequence_ids)


class FastTokenizer:
    """As transformers' tokenizers where they encode, for those whose tokenizer.json alone gives the same ids.

    Raises whatever the library does for files that it cannot read.
    """

    cls_token_id: int | None
    sep_token_id: int | None
    pad_token_id: int | None
    mask_token_id: int | None
    unk_token_id: int | None

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._settings = json_table(folder / "tokenizer_config.json")
        self._file = json_table(folder / "tokenizer.json")
        self._kind = str(self._file["model"].get("type"))
        self._is_unchanged = self._settings.get("tokenizer_class") in AS_THEY_ARE
        self._backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._backend.no_truncation()
        self._backend.no_padding()
        self._lock = Lock()  # what is truncated is a state of the library's object
        names = {} if self._is_unchanged else NAMES.get(self._kind, {})
        for name in ("cls", "sep", "pad", "mask", "unk"):
            token = content_of(self._settings.get(f"{name}_token", names.get(name)))
            setattr(self, f"{name}_token_id", None if token is None else self._backend.token_to_id(token))

    @property
    def model_max_length(self) -> Any:
        """The longest sequence that it was made for."""
        return self._settings.get("model_max_length", NO_LIMIT)

    @property
    def model_input_names(self) -> list[str]:
        """The names of what it returns by default."""
        kind = str(self._settings.get("tokenizer_class", "")).removesuffix("Fast")
        otherwise = [name for name in OFTEN if name != SEGMENTS or kind not in WITHOUT_SEGMENTS]
        return list(self._settings.get("model_input_names", otherwise))

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
        """Of each text or pair what transformers returns; of a pair the longer is truncated first."""
        one = isinstance(text, str)
        texts: Any = [text] if one else text
        pairs: Any = text_pair if text_pair is None or not one else [text_pair]
        inputs: list[Any] = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
        with self._lock:
            if truncation and max_length is not None:
                side = self._settings.get("truncation_side", "right")
                self._backend.enable_truncation(max_length, strategy="longest_first", direction=side)
            else:
                self._backend.no_truncation()
            encodings = self._backend.encode_batch(inputs, add_special_tokens=add_special_tokens)
        values: dict[str, Any] = {IDS: [each.ids for each in encodings]}
        if SEGMENTS in self.model_input_names:
            values[SEGMENTS] = [each.type_ids for each in encodings]
        if return_special_tokens_mask:
            values["special_tokens_mask"] = [each.special_tokens_mask for each in encodings]
        if return_offsets_mapping:
            values["offset_mapping"] = [each.offsets for each in encodings]
        return EncodedBatch({name: each[0] for name, each in values.items()} if one else values, encodings)

    def is_faithful(self) -> bool:
        """Whether transformers, which builds most tokenizers from tokenizer_config.json, gives the same ids."""
        added = {token["content"] for token in self._file["added_tokens"]}
        if not self._settings or not self._named_tokens() <= added or OTHERWISE & set(self._settings):
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

    def _named_tokens(self) -> set[str]:
        """The tokens that transformers adds where the file lacks them."""
        named = [value for key, value in self._settings.items() if key.endswith("_token")]
        named += self._settings.get("added_tokens_decoder", {}).values()
        return {name for token in named if (name := content_of(token)) is not None}


def load_fast_tokenizer(folder: Path) -> Any:
    """A model's tokenizer to encode with: without transformers, where tokenizer.json alone gives the same ids.

    Raises UserError as `load_tokenizer` does.
    """
    try:
        light = FastTokenizer(folder)
        if light.is_faithful() and not tokenizer_fault(light, require_config(folder).get("vocab_size")):
            return light
    except THEIRS:
        raise
    except Exception:  # the file is not what it should be: the other way reports it
        pass
    return load_tokenizer(folder)
