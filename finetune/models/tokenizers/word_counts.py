"""Counts words and characters of texts as a tokenizer splits them, each different string of a batch only once."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BATCH = 1 << 24  # characters
JOINING = re.compile("[\x0b\x0c\x1c-\x1f\x85]+")  # Python splits there; BERT's normalizer removes them

TextSource = Callable[[], Iterable[str]]  # a new pass over the texts at each call


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
