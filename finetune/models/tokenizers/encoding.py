"""From token ids to a model's inputs: special tokens around texts, windows over long ones, and tokens' characters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import regex

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MARKS = regex.compile(r"[\p{M}\u200d\u1160-\u11ff\ud7b0-\ud7ff]+")  # accents; vowels and finals of Hangul as letters
SPACE = 32
POSITIONS = 512  # tokens of the longest input of BERT


@dataclass(frozen=True, kw_only=True)
class Template:
    """`before` first `between` second `after`, as token ids, so that each text is tokenized only once; `segments` are
    those of the five, or None.
    """

    before: list[int]
    between: list[int]
    after: list[int]
    segments: tuple[list[int], int, list[int], int, list[int]] | None

    @property
    def special_tokens(self) -> int:
        """The number of special tokens."""
        return len(self.before) + len(self.between) + len(self.after)

    def fill(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """(token ids, segment ids) of a pair; of one text with an empty second."""
        ids = np.concatenate([self.before, first, self.between, second, self.after]).astype(np.int32)
        if self.segments is None:
            return ids, None
        before, one, between, two, after = self.segments
        parts = [before, [one] * len(first), between, [two] * len(second), after]
        return ids, np.concatenate(parts).astype(np.int8)


def template_of(tokenizer: "PreTrainedTokenizerBase", *, pair: bool = True) -> Template:
    """A fast tokenizer's template for pairs, or for one text, inferred from its output for one."""
    encoded = tokenizer("a", "b") if pair else tokenizer("a")
    texts = encoded.sequence_ids(0)
    one, one_end = texts.index(0), texts.index(0) + texts.count(0)
    two = texts.index(1) if pair else one_end
    two_end = two + texts.count(1)
    ids, of = encoded["input_ids"], encoded.get("token_type_ids")
    segments = None if of is None else (of[:one], of[one], of[one_end:two], of[two_end - 1], of[two_end:])
    return Template(before=ids[:one], between=ids[one_end:two], after=ids[two_end:], segments=segments)


def window_starts(tokens: int, *, size: int, step: int) -> range:
    """Starts of overlapping windows of `size` tokens, `step` apart, up to the first that reaches the end."""
    return range(0, max(1, tokens - size + step), step)


def most_context(places: np.ndarray, starts: range, *, tokens: int, size: int) -> np.ndarray:
    """For each token position the index of the window with the longest context on its shorter side: `(tokens,)`.

    A hundredth of the window's length is added, so that ties go to the longer window, then to the first, as in the
    original BERT code.
    """
    last = np.minimum(places // starts.step, len(starts) - 1)
    owner = last.copy()
    best = np.full(len(places), -np.inf)
    for back in range(-(-size // starts.step)):
        window = last - back
        start = window * starts.step
        end = np.minimum(start + size, tokens)
        context = np.minimum(places - start, end - 1 - places) + 0.01 * (end - start)
        better = (window >= 0) & (places < end) & (context >= best)
        owner, best = np.where(better, window, owner), np.where(better, context, best)
    return owner  # type: ignore[no-any-return]


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
    if not len(starts):
        return characters
    starts[:] = np.minimum.accumulate(starts[::-1])[::-1]  # an empty token begins where the next one does
    before = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]])
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    gaps = np.flatnonzero(starts > before)
    for token in gaps[codes[starts[gaps] - 1] != SPACE].tolist():
        start = int(starts[token])
        while start > before[token] and text[start - 1].isalnum():
            start -= 1
        starts[token] = start
    return characters
