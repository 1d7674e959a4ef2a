"""How a vocabulary splits texts: the figures by which vocabularies are compared."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MANY_TOKENS = 3  # tokens of a word that is split in many
MOST_CHARS = 10_000_000  # characters of the texts that are counted
WORDS = r"[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}\s]"  # a sign is a word, as in BERT


@dataclass(frozen=True, kw_only=True)
class Splits:
    """Counts over texts; words are counted alike for every vocabulary.

    Attributes:
        vocabulary: The number of tokens that the vocabulary has.
        words: The number of words and signs in the texts.
        tokens: The number of tokens that they become.
        bytes: The size of the texts in UTF-8.
        unknown: The number of unknown tokens.
        in_many: The number of words of 3 tokens or more.
    """

    vocabulary: int
    words: int
    tokens: int
    bytes: int
    unknown: int
    in_many: int

    @property
    def tokens_per_word(self) -> float:
        """Tokens by words."""
        return self.tokens / self.words

    @property
    def bytes_per_token(self) -> float:
        """Bytes by tokens: a token of an English text has about four."""
        return self.bytes / self.tokens

    @property
    def unknown_share(self) -> float:
        """The share of the tokens that are unknown."""
        return self.unknown / self.tokens

    @property
    def in_many_share(self) -> float:
        """The share of the words that are split in 3 or more."""
        return self.in_many / self.words


def splits_of(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> Splits:
    """How a tokenizer splits texts."""
    words = Counter(word for text in texts for word in _pattern().findall(text))
    tokens = Counter(token for ids in _ids(tokenizer, texts) for token in ids)
    lengths = map(len, _ids(tokenizer, list(words)))
    unknown = tokenizer.unk_token_id
    return Splits(
        vocabulary=len(tokenizer),
        words=words.total(),
        tokens=tokens.total(),
        bytes=sum(len(text.encode()) for text in texts),
        unknown=0 if unknown is None else tokens[unknown],
        in_many=sum(count for count, length in zip(words.values(), lengths, strict=True) if length >= MANY_TOKENS),
    )


def first_texts(texts: Iterable[str]) -> list[str]:
    """The first texts, of at most MOST_CHARS characters together, but always one."""
    kept: list[str] = []
    length = 0
    for text in texts:
        length += len(text)
        if kept and length > MOST_CHARS:
            break
        kept.append(text)
    return kept


def _ids(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> list[list[int]]:
    return tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]  # type: ignore[no-any-return]


@cache
def _pattern() -> Any:
    import regex

    return regex.compile(WORDS)
