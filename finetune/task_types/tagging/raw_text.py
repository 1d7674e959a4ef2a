"""Splits signs off the words of a raw text, as tokenised training data has them: `in Paris.` becomes `in Paris .`."""

import re
from collections.abc import Iterable, Iterator

OPENING = "\"'`([{<«“‘„¿¡"
CLOSING = ".,!?;:\"')]}>»”’…。、，！？；："
COUNTED = ",!?;:"  # a full stop may belong to an abbreviation
POSSESSIVE = re.compile(r"(?<=\w)['’][sS]$")
TITLES = "mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|no|inc|ltd|co|corp|gen|col|lt|sgt|rev|sen|gov"
ABBREVIATION = re.compile(rf"(?:\w|\w+(?:\.\w+)+|{TITLES})\.", re.IGNORECASE)


def signs_are_apart(words: Iterable[str]) -> bool:
    """Whether signs are words of their own in tokenised data, more often than the last character of a word."""
    apart = joined = 0
    for word in words:
        apart += len(word) == 1 and word in COUNTED
        joined += len(word) > 1 and word[-1] in COUNTED and word[-2].isalnum()
    return apart > joined


def split_words(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The words of a text, and the index of the first character of each.

    A text that has a sign between blanks is taken to be tokenised already: its words are those between blanks.
    """
    given = [(found[0], found.start()) for found in re.finditer(r"\S+", text)]
    if not any(len(word) == 1 and word in CLOSING for word, _ in given):
        given = [part for word, start in given for part in _parts(word, start)]
    return tuple(word for word, _ in given), tuple(start for _, start in given)


def _parts(word: str, start: int) -> Iterator[tuple[str, int]]:
    """A word without its outer signs, and each of these, in their order."""
    begin, end = 0, len(word)
    while begin < end and word[begin] in OPENING:
        yield word[begin], start + begin
        begin += 1
    after: list[tuple[str, int]] = []
    while end > begin and (sign := _last(word[begin:end])):
        end -= len(sign)
        after.append((sign, start + end))
    if begin < end:
        yield word[begin:end], start + begin
    yield from reversed(after)


def _last(word: str) -> str:
    """The sign (or a row of it, `...`) or `'s` at the end of a word; empty for none and for that of an abbreviation."""
    if possessive := POSSESSIVE.search(word):
        return possessive[0]
    if word[-1] not in CLOSING or ABBREVIATION.fullmatch(word):
        return ""
    return word[len(word.rstrip(word[-1])) :]
