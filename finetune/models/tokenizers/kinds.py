"""The kinds of tokenizers that are trained: how each normalizes and splits a text, and its special tokens.

A kind is a row of `KINDS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LATER = "##"  # before a piece of WordPiece that does not begin a word
SPACE = "▁"  # before a piece of BPE that begins a word, as in SentencePiece
SIGNS = rf"{SPACE}?[^\p{{L}}\p{{N}}\p{{M}}{SPACE}]"  # which BPE does not merge with letters
LONGEST_WORD = 100  # characters of a word of WordPiece; a longer one is unknown, as in the original code
OF_BERT = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
OF_ROBERTA = {
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


@dataclass(frozen=True, kw_only=True)
class TokenizerKind:
    """A kind of tokenizer: `parts(lower, accents)` are normalizer, splitter, decoder and the class of its template, by
    the names that a `Tokenizer` has for them.

    `special` are the special tokens by transformers' names, in the order of their ids. `lower` is whether it is
    lower-cased by default. `mark` comes before a piece that does not begin a word; without one, a space belongs to the
    piece after it. The characters of a kind `of_bytes` are the 256 bytes.
    """

    parts: Callable[[bool, bool], Mapping[str, Any]]
    special: Mapping[str, str]
    lower: bool = False
    mark: str = ""
    of_bytes: bool = False

    def untrained(self, *, lower: bool, accents: bool = False) -> "Tokenizer":
        """A tokenizer that splits texts into words and adds special tokens, with an empty model.

        One that is lower-cased strips accents too, unless they are to be kept.
        """
        from tokenizers import Tokenizer, models, processors

        backend, tokens = Tokenizer(models.BPE()), list(self.special.values())
        for name, part in self.parts(lower, accents).items():
            setattr(backend, name, part)
        sep, cls = ((self.special[name], tokens.index(self.special[name])) for name in ("sep_token", "cls_token"))
        backend.post_processor = (
            processors.RobertaProcessing(sep, cls, trim_offsets=True, add_prefix_space=True)
            if self.of_bytes
            else processors.BertProcessing(sep, cls)
        )
        return backend


def _wordpiece(lower: bool, accents: bool) -> Mapping[str, Any]:
    from tokenizers import decoders, pre_tokenizers

    splitter, decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(LATER)
    return {"normalizer": _of_bert(lower, accents), "pre_tokenizer": splitter, "decoder": decoder}


def _bpe(lower: bool, accents: bool) -> Mapping[str, Any]:
    from tokenizers import Regex, decoders, pre_tokenizers

    words, signs = pre_tokenizers.Metaspace(SPACE), pre_tokenizers.Split(Regex(SIGNS), "isolated")
    splitter = pre_tokenizers.Sequence([words, signs])
    return {"normalizer": _of_bert(lower, accents), "pre_tokenizer": splitter, "decoder": decoders.Metaspace(SPACE)}


def _byte_bpe(lower: bool, _: bool) -> Mapping[str, Any]:
    from tokenizers import decoders, normalizers, pre_tokenizers

    normalizer = normalizers.Sequence([normalizers.NFC(), *[normalizers.Lowercase()] * lower])
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=True)
    return {"normalizer": normalizer, "pre_tokenizer": splitter, "decoder": decoders.ByteLevel()}


def _of_bert(lower: bool, accents: bool) -> Any:
    """Hangul's letters are composed to syllables at the end, since to strip accents takes them apart."""
    from tokenizers import normalizers

    bert = normalizers.BertNormalizer(lowercase=lower, strip_accents=lower and not accents)
    return normalizers.Sequence([bert, normalizers.NFC()])


KINDS = {
    "wordpiece": TokenizerKind(parts=_wordpiece, special=OF_BERT, lower=True, mark=LATER),
    "bpe": TokenizerKind(parts=_bpe, special=OF_BERT),
    "byte-bpe": TokenizerKind(parts=_byte_bpe, special=OF_ROBERTA, of_bytes=True),
}
