"""Counts characters by kind (Unicode's scripts, control characters, single jamo) in many texts at once."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

SCRIPTS = (
    *("Latin", "Hangul", "Han", "Kana", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Thai", "Armenian"),
    *("Bengali", "Bopomofo", "Cherokee", "Coptic", "Ethiopic", "Georgian", "Gujarati", "Gurmukhi", "Kannada", "Khmer"),
    *("Lao", "Malayalam", "Mongolian", "Myanmar", "Oriya", "Sinhala", "Syriac", "Tamil", "Telugu", "Thaana", "Tibetan"),
    *("Tifinagh", "Yi"),
)
KINDS = ("other", *SCRIPTS, "jamo", "control", "replacement")
CHUNK_CHARS = 1 << 21  # characters processed at once
LAST = 0x32400  # after the last character of any script

# Ranges whose kind is not their Unicode script: (first, last, kind). Unicode shares Arabic marks among scripts.
RANGES = (
    *((0x1100, 0x11FF, "jamo"), (0xA960, 0xA97F, "jamo"), (0xD7B0, 0xD7FF, "jamo"), (0xFFA0, 0xFFDC, "jamo")),
    *((0x30FC, 0x30FC, "Kana"), (0xFF70, 0xFF70, "Kana"), (0x600, 0x6FF, "Arabic"), (0xFFFD, 0xFFFD, "replacement")),
    *((0x00, 0x08, "control"), (0x0B, 0x0C, "control"), (0x0E, 0x1F, "control"), (0x7F, 0x9F, "control")),
    *((0xAD, 0xAD, "control"), (0x200B, 0x200B, "control"), (0x202A, 0x202E, "control"), (0x2060, 0x2060, "control")),
    (0xFEFF, 0xFEFF, "control"),
)

CONTROL = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last, kind in RANGES if kind == "control") + "]"
)

CONJOINING = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")


def census(texts: Sequence[str]) -> NDArray[np.int32]:
    """Counts each text's characters by kind: `(texts, KINDS)`."""
    counts = [_counted(texts[some]) for some in text_slices([len(text) for text in texts])]
    return np.concatenate(counts) if counts else np.zeros((0, len(KINDS)), np.int32)


def text_slices(lengths: Sequence[int]) -> Iterator[slice]:
    """Yields slices of texts with about CHUNK_CHARS characters in total, so that long texts need no more memory."""
    start = size = 0
    for number, length in enumerate(lengths):
        if size and size + length > CHUNK_CHARS:
            yield slice(start, number)
            start, size = number, 0
        size += length
    if lengths:
        yield slice(start, len(lengths))


def kind_number(name: str) -> int:
    """The column of a kind in a census."""
    return KINDS.index(name)


def cleaned(text: str) -> str:
    """The text in NFC without control characters."""
    if text.isascii() and text.isprintable():
        return text
    return unicodedata.normalize("NFC", without_controls(text))


def same_text(text: str) -> str:
    """Normalises a text for comparison: NFC, lower case, no control characters, single spaces."""
    return " ".join(cleaned(text).lower().split())


def text_keys(texts: Iterable[str]) -> NDArray[np.int64]:
    """A hash of each text `(texts,)`, in any process the same, equal for texts that `same_text` makes equal; 0 for an
    empty one.
    """
    return np.fromiter((_key(same_text(text)) for text in texts), np.int64)


def _key(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) if text else 0


def shown_jamo(text: str) -> str:
    """The text with conjoining jamo as letters that fonts show in full size: `##\u1162` is `##\u3150`."""
    return CONJOINING.sub(lambda found: _letter(found[0]), unicodedata.normalize("NFC", text))


def without_controls(text: str) -> str:
    """The text without control characters; those that separate words become spaces."""
    return CONTROL.sub(lambda found: " " if found[0].isspace() else "", text)


def codes_of(text: str) -> NDArray[np.uint32]:
    """A text's code points."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def kinds_of(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The kind of each code point, as its number in KINDS."""
    return _table()[codes]


def _letter(jamo: str) -> str:
    """The compatibility letter of a conjoining jamo; the jamo itself where there is none."""
    try:
        return unicodedata.lookup(f"HANGUL LETTER {unicodedata.name(jamo).split()[-1]}")
    except (KeyError, ValueError):
        return jamo


def _counted(texts: Sequence[str]) -> NDArray[np.int32]:
    kinds = kinds_of(codes_of("".join(texts)))
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    cells = np.repeat(np.arange(len(texts)) * len(KINDS), lengths) + kinds
    counts = np.bincount(cells, minlength=len(texts) * len(KINDS))
    return counts.reshape(len(texts), len(KINDS)).astype(np.int32)


@lru_cache(maxsize=1)
def _table() -> NDArray[np.uint8]:
    """The kind of every code point."""
    import regex

    table = np.zeros(0x110000, np.uint8)
    groups = "|".join(rf"(?P<{name}>\p{{Script={name}}}+)" for name in SCRIPTS if name != "Kana")
    groups += r"|(?P<Kana>[\p{Script=Hiragana}\p{Script=Katakana}]+)"
    for found in regex.finditer(groups, "".join(map(chr, range(LAST)))):
        table[found.start() : found.end()] = KINDS.index(found.lastgroup)
    for first, last, kind in RANGES:
        table[first : last + 1] = KINDS.index(kind)
    return table
