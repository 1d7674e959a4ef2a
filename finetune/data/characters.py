"""Characters of texts by kind (scripts, control characters, single jamo), and spelling variants of labels."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


TYPO_LENGTH, TYPO_SHARE = 4, 0.1  # letters, and rows as a share of those of the label that was meant
SPACES, BETWEEN_DIGITS = re.compile(r"(?<!\d)\s+|\s+(?!\d)"), re.compile(r"\s+")
HANGUL = re.compile("[\uac00-\ud7a3\u3131-\u318e\\s]+")
CODE = 6  # characters of the longest code
BETWEEN_PARTS = re.compile(r"[-_./]")
LABEL_CHARS, MOST_LETTERS = 60, 400_000  # letters of a label, and of all that are searched


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
    return CONJOINING.sub(lambda match: _letter(match[0]), unicodedata.normalize("NFC", text))


def without_controls(text: str) -> str:
    """The text without control characters; separators of words become spaces."""
    return CONTROL.sub(lambda match: " " if match[0].isspace() else "", text)


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
    for match in regex.finditer(groups, "".join(map(chr, range(LAST)))):
        table[match.start() : match.end()] = KINDS.index(match.lastgroup)
    for first, last, kind in RANGES:
        table[first : last + 1] = KINDS.index(kind)
    return table


def unified(counts: Mapping[str, int]) -> dict[str, str]:
    """Each spelling that differs from a more frequent one only in case or spaces, with that one."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in counts:
        groups[_spelling(name)].append(name)
    best = {key: max(names, key=lambda name: (counts[name], name)) for key, names in groups.items()}
    return {name: best[key] for key, names in groups.items() for name in names if name != best[key]}


def _spelling(name: str) -> str:
    """What spellings of a label share that differ in case or spaces; a space between digits counts: `1 2` and `12`."""
    return BETWEEN_DIGITS.sub(" ", SPACES.sub("", cleaned(name).casefold().strip()))


def misspelled(counts: Mapping[str, int]) -> dict[str, str]:
    """Each rare label that is one edit away from one at least ten times as frequent, with that one; not numbers.

    The letters of Hangul are jamo: two syllables are long enough, and `긍졍` is one edit away from `긍정`. Labels of a
    text's length are left out, and none is searched for where there are too many: memory grows with the square of a
    label's length.
    """
    letters = {name: _letters(name) for name in counts if not _is_code(name)}
    names = [name for name, text in letters.items() if TYPO_LENGTH <= len(text) <= LABEL_CHARS]
    names.sort(key=lambda name: -counts[name])  # of several that may be meant, the most frequent
    if sum(len(letters[name]) for name in names) > MOST_LETTERS:
        return {}
    near: defaultdict[str, list[str]] = defaultdict(list)
    typos: dict[str, str] = {}
    for name in names:
        keys = {
            letters[name],
            *(letters[name][:place] + letters[name][place + 1 :] for place in range(len(letters[name]))),
        }
        usual = {other for key in keys for other in near[key] if counts[name] <= TYPO_SHARE * counts[other]}
        meant = [other for other in usual if _one_edit(name, other)]
        if meant:
            typos[name] = max(meant, key=lambda other: (counts[other], other))
        elif TYPO_SHARE * counts[name] >= 1:
            for key in keys:
                near[key].append(name)
    return typos


def _is_code(name: str) -> bool:
    """Whether a label is a short code, which differs from others in one letter by nature: `EN-US`, `NNPS`, `a1b2`."""
    short = len(name) <= CODE and (name.isupper() or any(map(str.isdigit, name)))
    return short or (not name.isalnum() and all(len(part) <= 3 for part in BETWEEN_PARTS.split(name)))


def _letters(name: str) -> str:
    """A label with the jamo of its syllables, if it is Hangul."""
    return unicodedata.normalize("NFKD", name) if HANGUL.fullmatch(name) else name


def _one_edit(label: str, other: str) -> bool:
    """Whether a letter was changed, added, left out, or exchanged with the next; not digits, mere case or spaces."""
    if _spelling(label) == _spelling(other):
        return False
    label, other = _letters(label), _letters(other)
    same = next((i for i, (a, b) in enumerate(zip(label, other, strict=False)) if a != b), min(len(label), len(other)))
    first, second = label[same:], other[same:]
    if first[:1].isdigit() or second[:1].isdigit():
        return False
    exchanged = first[:2] == second[1::-1] and first[2:] == second[2:]
    return exchanged or first[1:] == second[1:] or first[1:] == second or first == second[1:]
