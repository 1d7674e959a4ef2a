"""Splits running text in any language into words, with their positions.

Words are runs of letters and digits, or single signs; in scripts without spaces, and in Korean, where particles follow
names without a space, every character is a word.
"""

import re
from collections.abc import Iterable

CHARACTERS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U000323af"
)
WORD = re.compile(rf"[{CHARACTERS}]|[^\W_{CHARACTERS}]+|\S")


def segmented(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The words of a text, and the index of the first character of each."""
    found = list(WORD.finditer(text))
    return tuple(match[0] for match in found), tuple(match.start() for match in found)


def characters_of(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The characters of a text without its spaces, and the index of each."""
    found = [(character, place) for place, character in enumerate(text) if not character.isspace()]
    return tuple(character for character, _ in found), tuple(place for _, place in found)


def unit(words: Iterable[str]) -> str:
    """What these words are called: `character` where most that have letters are single ones, else `word`."""
    lengths = [len(word) for word in words if word.isalnum()]
    return "character" if 2 * lengths.count(1) > len(lengths) else "word"
