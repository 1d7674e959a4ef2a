"""From token ids to a model's inputs: special tokens, windows over long texts, and the characters of tokens."""

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
    """Token ids around the texts of a pair: `before` first `between` second `after`; so each text is tokenized once.

    `segments` are the segment ids of the five parts, or None.
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
        """(token ids, segment ids) of a pair, each `(length,)`; `second` is empty for one text."""
        ids = np.concatenate([self.before, first, self.between, second, self.after]).astype(np.int32)
        if self.segments is None:
            return ids, None
        before, of_first, between, of_second, after = self.segments
        parts = [before, [of_first] * len(first), between, [of_second] * len(second), after]
        return ids, np.concatenate(parts).astype(np.int8)


def template_of(tokenizer: "PreTrainedTokenizerBase", *, pair: bool = True) -> Template:
    """A fast tokenizer's template for pairs, or for single texts, inferred from its output for an example."""
    encoded = tokenizer("a", "b") if pair else tokenizer("a")
    texts = encoded.sequence_ids(0)
    first = texts.index(0)
    first_end = first + texts.count(0)
    second = texts.index(1) if pair else first_end
    end = second + texts.count(1)
    ids, types = encoded["input_ids"], encoded.get("token_type_ids")
    segments = types and (types[:first], types[first], types[first_end:second], types[end - 1], types[end:])
    return Template(before=ids[:first], between=ids[first_end:second], after=ids[end:], segments=segments)


def window_starts(tokens: int, *, size: int, step: int) -> range:
    """Starts of overlapping windows of `size` tokens, `step` apart, up to the first that reaches the end."""
    return range(0, max(1, tokens - size + step), step)


def most_context(positions: np.ndarray, starts: range, *, tokens: int, size: int) -> np.ndarray:
    """For each token position `(n,)` the index of the window with most context on its shorter side `(n,)`.

    A hundredth of the window's length is added, as in the original BERT code: ties go to the longer window, then to
    the first.
    """
    last = np.minimum(positions // starts.step, len(starts) - 1)
    owner = last.copy()
    best = np.full(len(positions), -np.inf)
    for back in range(-(-size // starts.step)):
        window = last - back
        start = window * starts.step
        end = np.minimum(start + size, tokens)
        context = np.minimum(positions - start, end - 1 - positions) + 0.01 * (end - start)
        better = (window >= 0) & (positions < end) & (context >= best)
        owner, best = np.where(better, window, owner), np.where(better, context, best)
    return owner  # type: ignore[no-any-return]


def character_offsets(text: str, offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    """`(tokens, 2)`: the first character of each token and the one after its last; neither falls from token to token.

    Marks belong to their letter: where normalization joins or removes them, the library's offsets end before them, and
    an answer would lose its last accent. Letters and digits between tokens belong to the next one: some byte-level
    tokenizers count the space that they put in front of a word, and begin one character late.
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
