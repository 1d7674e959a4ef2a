"""Detects legacy (non-Unicode) encodings: the one in which the text's letters are those of a language."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from finetune.data.characters import SCRIPTS, codes_of, kind_number, kinds_of
from finetune.data.encodings.languages import REGIONS, Region, Script

UNREADABLE, CONTROL, SYMBOL, UNUSUAL = 30.0, 24.0, 17.0, 13.0  # bits of a character that a language does not list
RARE_HAN, RARE_HANGUL, FOREIGN = 13.2, 12.0, 15.0
AWAY = 12.0  # bits, where a language is not usually written in an encoding
PUNCTUATION = {
    **dict.fromkeys("\xa0", 3.0),
    **dict.fromkeys("“”‘’„…–—«»", 7.0),
    **dict.fromkeys("€£°§©®™·•×½²³¼¾´`¡¿ªº‚‹›\xad№״׳،؟؛", 8.0),
    **dict.fromkeys("÷±¶¢¥†‡‰", 11.0),
}
WIDE = dict.fromkeys("，。、！？：；「」『』（）・《》“”‘’…—～【】〜\u3000", 6.0)
MIXED, MIXED_HAN, NEIGHBOUR = 9.0, 6.0, 5.0  # bits where letters of two scripts are adjacent, in a word or at a space
CASE, INSIDE, JOINED = 7.0, 9.0, 1.0  # of a capital, a symbol, or a hard space behind a small letter
CLOSING, ALONE = 6.0, -4.0  # of a closing quote before a word, or a letter at a digit; of a sign between spaces
PLAIN = 0.2  # weight of ASCII words, which indicate the language and not the encoding
OTHER_SCRIPT = 0.1  # bits of each of their letters where the language has another script
MOST_PLAIN = 5.0  # bits of all of them, saved or lost: both are below SURE, so they alone decide nothing
ENCODINGS = {name: bits for region in REGIONS for name, bits in region.encodings.items()}
LETTER = r"[^\W\d_]"
SYMBOL_INSIDE = re.compile(rf"(?<={LETTER})[^\w\s\x00-\x7f’'–—\xad\u0300-\u036f\u0590-\u06ff\u0e00-\u0e7f](?={LETTER})")
SPACE_INSIDE = re.compile(rf"(?<={LETTER})\xa0(?={LETTER})")
SIGN_ALONE = re.compile(rf"(?<!\S)[{re.escape(''.join(PUNCTUATION))}](?!\S)")
BY_DIGIT = re.compile(r"[À-ÖØ-öø-ɏͰ-ӿ](?=[0-9])|(?<=[0-9])[À-ÖØ-öø-ɏͰ-ӿ]")
CLOSING_FIRST = re.compile(rf"(?:(?<=[\s\"(])|^)[’”](?={LETTER})", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class DecodedText:
    """A decoded text, the encodings that decode to it, and its bits as text of the likeliest language.

    `signs` are the characters that were counted: letters, and all non-ASCII ones.
    """

    encodings: tuple[str, ...]
    text: str
    bits: float
    signs: int


@dataclass(frozen=True, kw_only=True)
class Language:
    """How many bits each of its characters takes, and the encodings that it is written in."""

    bits: Mapping[str, float]
    script: Script
    home: Mapping[str, float]


def readings(sample: bytes, plain: bytes = b"") -> list[DecodedText]:
    """Decodes non-ASCII lines in each encoding, the likeliest first; `plain` is the ASCII text around them."""
    texts: dict[str, list[str]] = {}
    for encoding in ENCODINGS:
        texts.setdefault(sample.decode(encoding, "replace"), []).append(encoding)
    around = plain.decode("ascii", "ignore").lower()
    found = [_weighed(text, names, around) for text, names in texts.items()]
    return sorted(found, key=lambda reading: reading.bits)


def _weighed(text: str, encodings: list[str], around: str) -> DecodedText:
    words = re.split("[ \n]", text.replace("İ", "i").lower())
    foreign = Counter("".join(word for word in words if not word.isascii()))
    plain = Counter("".join([around, *(word for word in words if word.isascii())]))
    unlisted = {script: {char: _unlisted(char, script) for char in foreign} for script in get_args(Script)}
    totals = {script: sum(bits[char] * foreign[char] for char in foreign) for script, bits in unlisted.items()}
    best = min(
        totals[known.script]
        - _saved(known, foreign, unlisted[known.script])
        + _of_plain(known, plain)
        + min(ENCODINGS[name] + AWAY * (name not in known.home) for name in encodings)
        for known in known_languages()
    )
    signs = sum(count for char, count in foreign.items() if not char.isascii() or char.isalpha())
    bits = round(best + _oddities(text), 6)  # sums over sets come in any order
    return DecodedText(encodings=tuple(encodings), text=text, bits=bits, signs=signs)


def _saved(language: Language, counts: Counter[str], unlisted: Mapping[str, float]) -> float:
    """Bits that a language saves by the characters that it lists."""
    listed = language.bits.keys() & counts.keys()
    return sum(counts[char] * (unlisted[char] - language.bits[char]) for char in listed)


def _of_plain(language: Language, counts: Counter[str]) -> float:
    """Bits that ASCII words take more, or less, than in English."""
    if language.script != "Latin":
        bits = OTHER_SCRIPT * sum(counts[char] for char in ENGLISH)
    else:
        bits = PLAIN * sum(counts[char] * (language.bits.get(char, UNUSUAL) - known) for char, known in ENGLISH.items())
    return max(-MOST_PLAIN, min(bits, MOST_PLAIN))


@lru_cache(maxsize=1 << 14)
def _unlisted(char: str, script: Script) -> float:
    """Bits of a character that a language of this script does not list."""
    category, code = unicodedata.category(char), ord(char)
    if char.isascii():
        return CONTROL if category == "Cc" and char not in "\t\r\n" else 0
    if char == "\ufffd":
        return UNREADABLE
    if category in ("Cc", "Cn", "Co", "Cs"):
        return CONTROL
    if script == "Han":
        wide = 0x3041 <= code < 0x3100 or 0xFF01 <= code < 0xFF5F
        rare = RARE_HAN if 0x4E00 <= code < 0xA000 else RARE_HANGUL if 0xAC00 <= code < 0xD7A4 else FOREIGN
        return 11 if wide else rare
    if category[0] not in "LM":
        return PUNCTUATION.get(char, SYMBOL)
    return UNUSUAL if (script == "Latin") == (code < 0x250 or 0x1E00 <= code < 0x1F00) else FOREIGN


def _oddities(text: str) -> float:
    """Bits of what is unusual in words: mixed scripts, a capital after a small letter, a symbol."""
    codes = codes_of(text)
    kinds = kinds_of(codes)
    letter = (kinds >= kind_number("Latin")) & (kinds <= kind_number(SCRIPTS[-1]))
    east = (kinds >= kind_number("Hangul")) & (kinds <= kind_number("Kana"))
    ascii_only = codes < 0x80
    both = letter[:-1] & letter[1:] & ~(ascii_only[:-1] & ascii_only[1:])
    mixed = both & (kinds[:-1] != kinds[1:]) & ~(east[:-1] & east[1:])
    with_han = mixed & (east[:-1] | east[1:])
    capitals = both & (_case(codes[:-1]) == 1) & (_case(codes[1:]) == 2)
    spaced = letter[:-2] & (codes[1:-1] == 0x20) & letter[2:] & ~east[:-2] & ~east[2:] & (kinds[:-2] != kinds[2:])
    counts = (
        (MIXED_HAN, with_han.sum()),
        (MIXED, (mixed & ~with_han).sum()),
        (CASE, capitals.sum()),
        (NEIGHBOUR, spaced.sum()),
        (INSIDE, len(SYMBOL_INSIDE.findall(text))),
        (JOINED, len(SPACE_INSIDE.findall(text))),
        (ALONE, len(SIGN_ALONE.findall(text))),
        (CLOSING, len(CLOSING_FIRST.findall(text)) + len(BY_DIGIT.findall(text))),
    )
    return float(sum(bits * count for bits, count in counts))


def _case(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """1 for a small letter, 2 for a capital, 0 for what has no case."""
    return _cases()[np.minimum(codes, 0xFFFF)]


@lru_cache(maxsize=1)
def _cases() -> NDArray[np.uint8]:
    chars = map(chr, range(0x10000))
    return np.array([1 if char.islower() else 2 if char.isupper() else 0 for char in chars], np.uint8)


@lru_cache(maxsize=1)
def known_languages() -> list[Language]:
    """Every language of every region; where the script is not Latin, words may also be English."""
    return [
        Language(bits=_bits_of(order, region), script=region.script, home=region.encodings)
        for region in REGIONS
        for order in region.letters.values()
    ]


def _bits_of(order: str, region: Region) -> dict[str, float]:
    parts = zip(order.split(" "), region.shares, strict=True)
    bits = {char: bits for part, share in parts for char, bits in _ranked(part, share).items()}
    if region.script == "Latin":
        return bits
    return ENGLISH | (WIDE if region.script == "Han" else {}) | bits


def _ranked(order: str, share: float) -> dict[str, float]:
    """Bits of letters by their rank alone: of n letters the r-th is as frequent as ln((n + 1) / r) (Gusein-Zade)."""
    letters = list(dict.fromkeys(order))
    weights = [math.log((len(letters) + 1) / rank) for rank in range(1, len(letters) + 1)]
    return {char: -math.log2(share * weight / sum(weights)) for char, weight in zip(letters, weights, strict=True)}


ENGLISH = {char: bits for char, bits in _ranked(REGIONS[0].letters["English"], 0.97).items() if char.isascii()}
