"""The alphabet of a vocabulary: the characters of a text but the rarest, in an order that the text alone decides.

Words are counted as a tokenizer splits them, each different string of a batch only once.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BATCH = 1 << 24  # characters whose words are counted together
JOINING = re.compile("[\x0b\x0c\x1c-\x1f\x85]+")  # Python splits there; BERT's normalizer removes them
COVERED = 0.9999  # share of the text's characters; the rest are unknown tokens
AT_MOST = 0.75  # of a vocabulary in which they do not fit

TextSource = Callable[[], Iterable[str]]  # a new pass over the texts at each call


@dataclass(frozen=True, kw_only=True)
class Alphabet:
    """Characters in the order of their code points; `later` are those that follow another in a word.

    They make up the share `covered` of the text. All but the rarest would take `tokens`.
    """

    characters: tuple[str, ...]
    later: tuple[str, ...]
    covered: float = 1.0
    tokens: int = 0

    @property
    def has_hangul(self) -> bool:
        """Whether it has Korean syllables or letters."""
        return any("\uac00" <= char <= "\ud7a3" or "\u1100" <= char <= "\u11ff" for char in self.characters)


def alphabet_of(texts: Iterable[str], backend: "Tokenizer", *, room: int, marked: bool) -> Alphabet:
    """The most frequent characters that together make up COVERED of the texts; of equal counts the first by code.

    Where they do not fit in a `room` of so many tokens, the most frequent that take AT_MOST of it. Where they are
    `marked`, one that follows another takes two.
    """
    first, later = Counter[str](), Counter[str]()
    for words in word_counts(texts, backend):
        for word, count in words.items():
            first[word[0]] += count
            for char in word[1:]:
                later[char] += count
    counts = first + later
    in_order = sorted(counts, key=lambda char: (-counts[char], char))
    shares = np.cumsum([counts[char] for char in in_order]) / max(1, counts.total())
    tokens = np.cumsum([1 + (marked and char in later) for char in in_order])
    count = int(np.searchsorted(shares, COVERED)) + 1
    need = int(tokens[:count].max(initial=0))
    if need > room:
        count = int(np.searchsorted(tokens, AT_MOST * room, side="right"))
    kept = in_order[:count]
    return Alphabet(
        characters=tuple(sorted(kept)),
        later=tuple(sorted({*kept} & later.keys())),
        covered=float(shares[:count].max(initial=0)),
        tokens=need,
    )


def word_counts(texts: Iterable[str], backend: "Tokenizer") -> Iterator[Counter[str]]:
    """The words of each batch of texts with their counts, by the tokenizer's normalizer and pre-tokenizer."""
    for batch in _batches(texts):
        strings = Counter[str]()
        for text in batch:
            strings.update(JOINING.sub("", text).split())
        yield _split(strings, backend)


def _split(strings: Counter[str], backend: "Tokenizer") -> Counter[str]:
    """The words of strings without spaces."""
    normalizer, splitter = backend.normalizer, backend.pre_tokenizer
    words = Counter[str]()
    for string, count in strings.items():
        normal = string if normalizer is None else normalizer.normalize_str(string)
        for word, _ in splitter.pre_tokenize_str(normal):
            words[word] += count
    return words


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch, length = [], 0
    for text in texts:
        batch.append(text)
        length += len(text)
        if length >= BATCH:
            yield batch
            batch, length = [], 0
    yield batch
