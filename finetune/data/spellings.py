"""Spelling variants of a label: case, spaces, and rare ones that look like typos."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping

from finetune.data.characters import cleaned

TYPO_LENGTH, TYPO_SHARE = 4, 0.1  # letters, and rows as a share of those of the label that was meant
SPACES, BETWEEN_DIGITS = re.compile(r"(?<!\d)\s+|\s+(?!\d)"), re.compile(r"\s+")
HANGUL = re.compile("[\uac00-\ud7a3\u3131-\u318e\\s]+")
CODE = 6  # characters of the longest code
BETWEEN_PARTS = re.compile(r"[-_./]")
LABEL_CHARS, MOST_LETTERS = 60, 400_000  # letters of a label, and of all that are searched


def unified(counts: Mapping[str, int]) -> dict[str, str]:
    """Each spelling that differs from a more frequent one only in case or spaces, with that one."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in counts:
        groups[_key(name)].append(name)
    best = {key: max(names, key=lambda name: (counts[name], name)) for key, names in groups.items()}
    return {name: best[key] for key, names in groups.items() for name in names if name != best[key]}


def _key(name: str) -> str:
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


def _one_edit(one: str, other: str) -> bool:
    """Whether a letter was changed, added, left out, or exchanged with the next; not digits, mere case or spaces."""
    if _key(one) == _key(other):
        return False
    one, other = _letters(one), _letters(other)
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    first, second = one[same:], other[same:]
    if first[:1].isdigit() or second[:1].isdigit():
        return False
    exchanged = first[:2] == second[1::-1] and first[2:] == second[2:]
    return exchanged or first[1:] == second[1:] or first[1:] == second or first == second[1:]
