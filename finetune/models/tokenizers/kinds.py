"""The kinds of tokenizers that are trained: how each normalizes and splits a text, and its special tokens.

A kind is a row of `KINDS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LATER = "##"  # before a piece of WordPiece that does not begin a word
SPACE = "▁"  # before a piece of BPE that begins a word, as in SentencePiece
SIGNS = rf"{SPACE}?[^\p{{L}}\p{{N}}\p{{M}}{SPACE}]"  # which BPE does not merge with letters
LONGEST_WORD = 100  # characters of a word of WordPiece; a longer one is unknown, as in the original code


@dataclass(frozen=True, kw_only=True)
class SpecialTokens:
    """The special tokens of a family by the names that transformers gives them, in the order of their ids."""

    names: dict[str, str]
    inputs: tuple[str, ...]

    @property
    def tokens(self) -> list[str]:
        """The tokens; their places are their ids."""
        return list(self.names.values())

    @property
    def around(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The tokens after and before a text, each with its id, in the order of the library's arguments."""
        sep, cls = self.names["sep_token"], self.names["cls_token"]
        return (sep, self.tokens.index(sep)), (cls, self.tokens.index(cls))


OF_BERT = SpecialTokens(
    names={
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    },
    inputs=("input_ids", "token_type_ids", "attention_mask"),
)
OF_ROBERTA = SpecialTokens(
    names={"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"},
    inputs=("input_ids", "attention_mask"),
)


@dataclass(frozen=True, kw_only=True)
class TokenizerKind:
    """A kind of tokenizer; `prepare(backend, lower, accents)` sets normalizer, splitter, decoder and template.

    `lower` is whether it is lower-cased by default. `mark` comes before a piece that does not begin a word; without
    one, a space belongs to the piece after it. The characters of a kind `of_bytes` are the 256 bytes.
    """

    special: SpecialTokens
    prepare: Callable[["Tokenizer", bool, bool], None]
    lower: bool = False
    mark: str = ""
    of_bytes: bool = False

    def untrained(self, *, lower: bool, accents: bool = False) -> "Tokenizer":
        """A tokenizer that splits texts into words and adds special tokens, with an empty model.

        One that is lower-cased strips accents too, unless they are to be kept.
        """
        from tokenizers import Tokenizer, models

        backend = Tokenizer(models.BPE())
        self.prepare(backend, lower, accents)
        return backend


def _wordpiece(backend: "Tokenizer", lower: bool, accents: bool) -> None:
    from tokenizers import decoders, pre_tokenizers, processors

    backend.normalizer = _bert_normalizer(lower=lower, strip=lower and not accents)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(LATER)
    backend.post_processor = processors.BertProcessing(*OF_BERT.around)


def _bpe(backend: "Tokenizer", lower: bool, accents: bool) -> None:
    from tokenizers import Regex, decoders, pre_tokenizers, processors

    signs = pre_tokenizers.Split(Regex(SIGNS), "isolated")
    backend.normalizer = _bert_normalizer(lower=lower, strip=lower and not accents)
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(replacement=SPACE), signs])
    backend.decoder = decoders.Metaspace(SPACE)
    backend.post_processor = processors.BertProcessing(*OF_BERT.around)


def _byte_bpe(backend: "Tokenizer", lower: bool, _accents: bool) -> None:
    from tokenizers import decoders, normalizers, pre_tokenizers, processors

    backend.normalizer = normalizers.Sequence([normalizers.NFC(), *[normalizers.Lowercase()] * lower])
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.RobertaProcessing(*OF_ROBERTA.around, trim_offsets=True, add_prefix_space=True)


def _bert_normalizer(*, lower: bool, strip: bool) -> Any:
    """Hangul's letters are composed to syllables at the end, since to strip accents takes them apart."""
    from tokenizers import normalizers

    return normalizers.Sequence([normalizers.BertNormalizer(lowercase=lower, strip_accents=strip), normalizers.NFC()])


KINDS = {
    "wordpiece": TokenizerKind(special=OF_BERT, prepare=_wordpiece, lower=True, mark=LATER),
    "bpe": TokenizerKind(special=OF_BERT, prepare=_bpe),
    "byte-bpe": TokenizerKind(special=OF_ROBERTA, prepare=_byte_bpe, of_bytes=True),
}
