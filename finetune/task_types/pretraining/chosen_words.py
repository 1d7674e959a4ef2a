"""The words of a document, and those that dev masks cover: chosen by its text alone, the same for every tokenizer."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import regex

from finetune.data.documents import Document

LETTER = r"[[\p{L}\p{N}]--\p{Han}]"
WORD = regex.compile(rf"\p{{Han}}|\p{{M}}*+{LETTER}[{LETTER}\p{{M}}]*", regex.V1)  # an ideograph is a word, as in BERT
WORD_CHARS = 30  # characters of a word that is chosen
SHARE_OF_WORDS = 0.15  # of a document's words, as of the tokens in training (Devlin et al. 2019, section 3.1)


@dataclass(frozen=True, slots=True)
class ChosenWord:
    """A word: the characters [start : end] of line number `line` of its document."""

    line: int
    start: int
    end: int
    text: str


def words_of(document: Document) -> list[ChosenWord]:
    """Runs of letters, marks and digits, and single ideographs, in order."""
    return [
        ChosenWord(number, found.start(), found.end(), found.group())
        for number, line in enumerate(document.lines)
        for found in WORD.finditer(line)
    ]


@lru_cache(maxsize=8_192)  # of dev, which is scored again and again
def chosen_words(document: Document) -> tuple[ChosenWord, ...]:
    """A fixed random SHARE_OF_WORDS of a document's words, at least one if it has any, in order."""
    words = [word for word in words_of(document) if word.end - word.start <= WORD_CHARS]
    count = max(1, round(SHARE_OF_WORDS * len(words)))
    ranks = list(_numbers(document, len(words)))
    return tuple(words[index] for index in sorted(sorted(range(len(words)), key=ranks.__getitem__)[:count]))


def random_bits(document: Document, number: int) -> int:
    """64 random bits, which are a function of the document's text and of `number`."""
    return next(_numbers(document, 1, first=number, purpose=b"coin"))


def _numbers(document: Document, count: int, *, first: int = 0, purpose: bytes = b"word") -> Iterator[int]:
    """Numbers of 64 bits by position: hashes, since those of a generator may change with its library's version."""
    key = hashlib.sha256(document.text.encode()).digest()
    for number in range(first, first + count):
        own = hashlib.blake2b(number.to_bytes(8, "big"), digest_size=8, key=key, person=purpose)
        yield int.from_bytes(own.digest(), "big")
