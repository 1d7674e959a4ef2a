"""The kinds of changes that keep a row's label: a row of KINDS each, with a function from a text to its changed place.

After CheckList's invariance tests (Ribeiro et al. 2020, section 2.1), without templates.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

# Replaced within a group, so that pronouns and Korean particles still fit; names that are also words are left out.
NAMES = (
    ("James", "John", "Robert", "Michael", "David", "William", "Richard", "Thomas", "Daniel", "Paul", "Peter", "Kevin"),
    ("Mary", "Anna", "Linda", "Barbara", "Susan", "Jessica", "Sarah", "Karen", "Nancy", "Laura", "Emma", "Julia"),
    ("민수", "철수", "영희", "민지", "은지", "현우", "준호", "동호"),  # no final consonant
    ("지훈", "서연", "수빈", "성민", "재석", "영진", "혜진", "태현"),
)
ENDS = "없있했었았겠같였"  # before which 을 is the ending of a verb
FIRST, LAST, VOWELS, FINALS = 0xAC00, 0xD7A3, 21, 28  # Hangul syllables; vowels and finals of each consonant
OTHER_VOWEL = {1: 5, 5: 1}  # ㅐ and ㅔ, which sound alike

# No word of a marker, such as <subj:PER>.
WORD = r"(?<![\w<:/])[A-Za-z]{%d,}(?![\w>:])"
NAME = re.compile("|".join(rf"(?<![\w<:/]){name}(?![\w>:])" for group in NAMES[:2] for name in group))
KOREAN_NAME = re.compile(rf"(?<![가-힣])[김이박최정강조윤장임]?({'|'.join(name for g in NAMES[2:] for name in g)})")
NUMBER = re.compile(r"(?<![\w/])(?<!\d[.,])\d{2,}(?![\w]|[.,]\d|\s*(?:[/%점]|stars?\b))")  # no rating, no share
SPACE = re.compile(r"(?<=\w) (?=\w)")
PARTICLE = re.compile(rf"(?<=[가-힣]{{2}})(?:를|(?<![{ENDS}])을)(?=[\s.,!?]|$)")
FINAL = re.compile(r"\s*[.!?…]+\s*$")


@dataclass(frozen=True)
class Edit:
    """The characters from `start` to before `end`, and what takes their place."""

    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        """The changed text."""
        return text[: self.start] + self.new + text[self.end :]


Change = Callable[[str, Random], Edit | None]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of change. `everywhere`: it is made wherever the same word is in the row; `keeps_words`: words stay words,
    so that tags stay with them.
    """

    name: str
    what: str
    change: Change
    everywhere: bool = False
    keeps_words: bool = True


def typo(text: str, source: Random) -> Edit | None:
    """Two letters inside a word of five or more change places."""
    place = _chosen(WORD % 5, text, source)
    if place is None:
        return None
    swaps = [i for i in range(place[0] + 1, place[1] - 2) if text[i] != text[i + 1]]
    if not swaps:
        return None
    at = source.choice(swaps)
    return Edit(at, at + 2, text[at + 1] + text[at])


def vowel(text: str, source: Random) -> Edit | None:
    """ㅔ in place of ㅐ, or ㅐ in place of ㅔ."""
    places = [index for index, char in enumerate(text) if _vowel_of(char) in OTHER_VOWEL]
    if not places:
        return None
    at = source.choice(places)
    before = _vowel_of(text[at])
    return Edit(at, at + 1, chr(ord(text[at]) + (OTHER_VOWEL[before] - before) * FINALS))


def capitals(text: str, source: Random) -> Edit | None:
    """A word of three or more letters in capitals."""
    words = [found.span() for found in re.finditer(WORD % 3, text) if not found[0].isupper()]
    if not words:
        return None
    start, end = source.choice(words)
    return Edit(start, end, text[start:end].upper())


def name(text: str, source: Random) -> Edit | None:
    """A name of NAMES becomes another of its group."""
    found = [match.span() for match in NAME.finditer(text)] + [match.span(1) for match in KOREAN_NAME.finditer(text)]
    if not found:
        return None
    start, end = source.choice(found)
    group = next(group for group in NAMES if text[start:end] in group)
    others = [other for other in group if other not in text]
    return Edit(start, end, source.choice(others)) if others else None


def number(text: str, source: Random) -> Edit | None:
    """The last digit of a number of two or more becomes another."""
    place = _chosen(NUMBER, text, source)
    if place is None:
        return None
    start, end = place
    last = (int(text[end - 1]) + source.randint(1, 9)) % 10
    return Edit(start, end, f"{text[start : end - 1]}{last}")


def space(text: str, source: Random) -> Edit | None:
    """A space between two words is lost."""
    place = _chosen(SPACE, text, source)
    return None if place is None else Edit(*place, "")


def particle(text: str, source: Random) -> Edit | None:
    """The particle of an object, 을 or 를, is dropped, as in speech."""
    place = _chosen(PARTICLE, text, source)
    return None if place is None else Edit(*place, "")


def punctuation(text: str, _: Random) -> Edit | None:
    """The signs at the end are dropped; a text without any gets a full stop."""
    found = FINAL.search(text)
    if found is None:
        return Edit(len(text), len(text), ".") if text else None
    return Edit(*found.span(), "") if found.start() else None


KINDS = (
    Kind(name="typo", what="two letters of a word change places", change=typo),
    Kind(name="vowel", what="ㅐ is written as ㅔ, or ㅔ as ㅐ (Korean)", change=vowel),
    Kind(name="case", what="a word in capitals", change=capitals),
    Kind(name="name", what="a person's name becomes another", change=name, everywhere=True),
    Kind(name="number", what="the last digit of a number changes", change=number, everywhere=True),
    Kind(name="space", what="a space is lost", change=space, keeps_words=False),
    Kind(name="particle", what="을 or 를 is dropped (Korean)", change=particle),
    Kind(name="punctuation", what="the final sign is dropped, or added", change=punctuation, keeps_words=False),
)


def _chosen(pattern: re.Pattern[str] | str, text: str, source: Random) -> tuple[int, int] | None:
    """The place of one of the matches; None without any."""
    found = [match.span() for match in re.finditer(pattern, text)]
    return source.choice(found) if found else None


def _vowel_of(char: str) -> int:
    """The number of a syllable's vowel; -1 for other characters."""
    code = ord(char)
    return (code - FIRST) // FINALS % VOWELS if FIRST <= code <= LAST else -1
