"""Tokenizes lines: at once, or where a space always ends a word, each different word once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MOST_WORDS, MOST_TOKENS = 1 << 19, 1 << 22  # words that are remembered, and their tokens
BY_CHARACTER = ("BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")  # never across a space


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedLines:
    """Tokens of lines: `ids` `(tokens,)`, `starts` (whether each starts a word), and `lengths` `(lines,)` in tokens."""

    ids: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


def line_encoder(tokenizer: "PreTrainedTokenizerBase") -> Callable[[Sequence[str]], EncodedLines]:
    """The faster function that gives the tokens of a fast tokenizer, without special tokens."""
    backend = tokenizer.backend_tokenizer
    return WordEncoder(backend) if _ends_words_at_spaces(backend) else lambda lines: encode_lines(backend, lines)


def encode_lines(backend: Any, lines: Sequence[str]) -> EncodedLines:
    """The tokens of lines, by one call of the `tokenizers` library."""
    encoded = backend.encode_batch(lines, add_special_tokens=False)
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    total = int(lengths.sum())
    ids = np.fromiter(chain.from_iterable(one.ids for one in encoded), np.uint32, total)
    words = np.fromiter(chain.from_iterable(one.word_ids for one in encoded), np.int64, total)
    starts = np.ones(total, bool)
    starts[1:] = words[1:] != words[:-1]
    starts[_begins(lengths)[lengths > 0]] = True
    return EncodedLines(ids=ids, starts=starts, lengths=lengths)


class WordEncoder:
    """Encodes lines word by word and remembers each word's tokens, for tokenizers that never cross a space."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.numbers: dict[str, int] = {}
        self.ids: np.ndarray = np.zeros(0, np.uint32)
        self.starts: np.ndarray = np.zeros(0, bool)
        self.lengths: np.ndarray = np.zeros(0, np.int64)

    def __call__(self, lines: Sequence[str]) -> EncodedLines:
        """The tokens of lines."""
        parts = [line.split(" ") for line in lines]
        if len(self.numbers) > MOST_WORDS or len(self.ids) > MOST_TOKENS:
            self._forget()
        self._learn(dict.fromkeys(word for words in parts for word in words if word not in self.numbers))
        counts = np.fromiter(map(len, parts), np.int64, len(parts))
        numbers = np.fromiter(map(self.numbers.__getitem__, chain.from_iterable(parts)), np.int64, int(counts.sum()))
        lengths = self.lengths[numbers]
        ends = np.cumsum(lengths)
        positions = np.repeat(_begins(self.lengths)[numbers] - (ends - lengths), lengths) + np.arange(lengths.sum())
        of_lines = np.diff(ends[np.cumsum(counts) - 1], prepend=0)
        return EncodedLines(ids=self.ids[positions], starts=self.starts[positions], lengths=of_lines)

    def _learn(self, words: dict[str, None]) -> None:
        new = encode_lines(self.backend, list(words))
        self.numbers.update(zip(words, range(len(self.numbers), len(self.numbers) + len(words)), strict=True))
        self.ids = np.concatenate([self.ids, new.ids])
        self.starts = np.concatenate([self.starts, new.starts])
        self.lengths = np.concatenate([self.lengths, new.lengths])

    def _forget(self) -> None:
        self.numbers.clear()
        self.ids, self.starts, self.lengths = self.ids[:0], self.starts[:0], self.lengths[:0]


def _begins(lengths: np.ndarray) -> np.ndarray:
    return np.asarray(np.cumsum(lengths) - lengths)


def _ends_words_at_spaces(backend: Any) -> bool:
    """Whether a tokenizer gives a text's tokens as those of what is between its spaces: as BERT's does."""
    normalizer = backend.normalizer
    parts = list(normalizer) if type(normalizer).__name__ == "Sequence" else [normalizer]
    return (
        all(part is None or type(part).__name__ in BY_CHARACTER for part in parts)
        and type(backend.pre_tokenizer).__name__ == "BertPreTokenizer"
        and not any(" " in token.content for token in backend.get_added_tokens_decoder().values())
    )
