"""Counts characters by kind (Unicode's scripts, control characters, single jamo) in many texts at once."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
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

# Ranges whose kind is not their Unicode script, by code points. Unicode shares Arabic marks among scripts.
RANGES_BY_KIND = {
    "jamo": "1100-11FF A960-A97F D7B0-D7FF FFA0-FFDC",
    "Kana": "30FC-30FC FF70-FF70",
    "Arabic": "600-6FF",
    "replacement": "FFFD-FFFD",
    "control": "0-8 B-C E-1F 7F-9F AD-AD 200B-200B 202A-202E 2060-2060 FEFF-FEFF",
}
RANGES = [
    (int(first, 16), int(last, 16), kind)
    for kind, listed in RANGES_BY_KIND.items()
    for first, last in (part.split("-") for part in listed.split())
]

CONTROL = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last, kind in RANGES if kind == "control") + "]"
)

KOREAN = re.compile(r"([\uac00-\ud7a3])(?!\1)[\uac00-\ud7a3]")  # two syllables, which a row of signs is not
MOJIBAKE = [  # a wrong encoding, the right one, and what texts hold that were decoded in the wrong one
    *((wrong, "utf-8", re.compile("[^\x00-\x7f]")) for wrong in ("latin-1", "cp1252", "cp1254", "mac-roman")),
    ("cp949", "utf-8", KOREAN),
    ("latin-1", "euc_kr", KOREAN),
]
CONJOINING = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")


def census(texts: Sequence[str]) -> NDArray[np.int32]:
    """Counts each text's characters by kind: `(texts, KINDS)`."""
    counts = np.zeros((len(texts), len(KINDS)), np.int32)
    for part in text_slices([len(text) for text in texts]):
        kinds = _table()[np.frombuffer("".join(texts[part]).encode("utf-32-le", "surrogatepass"), np.uint32)]
        lengths = np.fromiter(map(len, texts[part]), np.int64)
        cells = np.repeat(np.arange(len(lengths)) * len(KINDS), lengths) + kinds
        counts[part] = np.bincount(cells, minlength=counts[part].size).reshape(-1, len(KINDS))
    return counts


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


def is_mojibake(text: str) -> bool:
    """Whether all of a text is UTF-8 that was decoded in an encoding of one byte, Korean in UTF-8 as CP949, or Korean
    in EUC-KR as Latin-1.
    """
    for wrong, right, meant in () if text.isascii() else MOJIBAKE:
        with suppress(UnicodeError):
            if meant.search(text.encode(wrong).decode(right)):
                return True
    return False


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


def _letter(jamo: str) -> str:
    """The compatibility letter of a conjoining jamo; the jamo itself where there is none."""
    try:
        return unicodedata.lookup(f"HANGUL LETTER {unicodedata.name(jamo).split()[-1]}")
    except (KeyError, ValueError):
        return jamo


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
