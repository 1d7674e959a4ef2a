"""Counts characters by kind (scripts, control characters, single jamo) in many texts at once."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SCRIPTS = ("Latin", "Hangul", "Han", "Kana", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Thai")
KINDS = ("other", *SCRIPTS, "jamo", "control", "replacement")
CHUNK = 1 << 21  # characters that are looked at together

# Of kinds with a few ranges in several blocks: (first, last, kind); a later range is within an earlier one.
RANGES = (
    *((0x41, 0x5A, "Latin"), (0x61, 0x7A, "Latin"), (0xC0, 0x24F, "Latin"), (0x1E00, 0x1EFF, "Latin")),
    *((0xFF21, 0xFF3A, "Latin"), (0xFF41, 0xFF5A, "Latin"), (0xD7, 0xD7, "other"), (0xF7, 0xF7, "other")),
    *((0xAC00, 0xD7A3, "Hangul"), (0x3131, 0x318E, "Hangul")),
    *((0x1100, 0x11FF, "jamo"), (0xA960, 0xA97F, "jamo"), (0xD7B0, 0xD7FF, "jamo"), (0xFFA0, 0xFFDC, "jamo")),
    *((0x3400, 0x4DBF, "Han"), (0x4E00, 0x9FFF, "Han"), (0xF900, 0xFAFF, "Han"), (0x20000, 0x323AF, "Han")),
    *((0x3041, 0x30FF, "Kana"), (0x31F0, 0x31FF, "Kana"), (0xFF66, 0xFF9F, "Kana")),
    *((0x400, 0x52F, "Cyrillic"), (0x370, 0x3FF, "Greek"), (0x1F00, 0x1FFF, "Greek"), (0x600, 0x6FF, "Arabic")),
    *((0x590, 0x5FF, "Hebrew"), (0x900, 0x97F, "Devanagari"), (0xE00, 0xE7F, "Thai"), (0xFFFD, 0xFFFD, "replacement")),
    *((0x00, 0x08, "control"), (0x0B, 0x0C, "control"), (0x0E, 0x1F, "control"), (0x7F, 0x9F, "control")),
    *((0xAD, 0xAD, "control"), (0x200B, 0x200B, "control"), (0x202A, 0x202E, "control"), (0x2060, 0x2060, "control")),
    (0xFEFF, 0xFEFF, "control"),
)

CONTROL = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last, kind in RANGES if kind == "control") + "]"
)


def census(texts: Sequence[str]) -> NDArray[np.int32]:
    """How many characters of each kind every text has: `(texts, KINDS)`."""
    counts = [_counted(texts[some]) for some in runs_of([len(text) for text in texts])]
    return np.concatenate(counts) if counts else np.zeros((0, len(KINDS)), np.int32)


def runs_of(lengths: Sequence[int]) -> Iterator[slice]:
    """Slices of texts of these lengths that have about CHUNK characters together, so that long ones need no more
    memory than short ones.
    """
    start = size = 0
    for number, length in enumerate(lengths):
        if size and size + length > CHUNK:
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
    """What texts that say the same have in common: NFC, small letters, no control characters, single spaces."""
    return " ".join(cleaned(text).lower().split())


def without_controls(text: str) -> str:
    """The text without control characters; those that part words become spaces."""
    return CONTROL.sub(lambda found: " " if found[0].isspace() else "", text)


def codes_of(text: str) -> NDArray[np.uint32]:
    """A text's code points."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def kinds_of(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The kind of each code point, as its number in KINDS."""
    return _table()[codes]


def _counted(texts: Sequence[str]) -> NDArray[np.int32]:
    kinds = kinds_of(codes_of("".join(texts)))
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    cells = np.repeat(np.arange(len(texts)) * len(KINDS), lengths) + kinds
    counts = np.bincount(cells, minlength=len(texts) * len(KINDS))
    return counts.reshape(len(texts), len(KINDS)).astype(np.int32)


@lru_cache(maxsize=1)
def _table() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, np.uint8)
    for first, last, kind in RANGES:
        table[first : last + 1] = KINDS.index(kind)
    return table
