"""Which characters each token has, where what the library says leaves out letters of a word."""

from collections.abc import Sequence

import numpy as np
import regex

MARKS = regex.compile(r"[\p{M}\u200d\u1160-\u11ff\ud7b0-\ud7ff]+")  # accents; vowels and finals of Hangul as letters
SPACE = 32


def character_offsets(text: str, offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    """`(tokens, 2)`: the first character of each token and the one after its last, neither falling from token to token.

    A letter has the marks that belong to it: where normalization joins or removes these, the library's end before
    them, and an answer would lose its last accent. Letters and digits in front of a token that no token has are its
    own: some byte-level tokenizers count the space that they put in front of a word, and begin one character late.
    """
    characters = np.array(offsets, dtype=np.int32).reshape(-1, 2)
    starts, ends = characters.T
    for marks in MARKS.finditer(text):
        first, after = marks.span()
        if not ((starts >= first) & (starts < after)).any():
            ends[(ends >= first) & (ends < after)] = after
    if len(starts):
        starts[:] = np.minimum.accumulate(starts[::-1])[::-1]  # an empty token begins where the next one does
        _take_letters_before(text, starts, ends)
    return characters


def _take_letters_before(text: str, starts: np.ndarray, ends: np.ndarray) -> None:
    """Moves starts back, in place."""
    before = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]])
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    gaps = np.flatnonzero(starts > before)
    for token in gaps[codes[starts[gaps] - 1] != SPACE].tolist():
        start = int(starts[token])
        while start > before[token] and text[start - 1].isalnum():
            start -= 1
        starts[token] = start
