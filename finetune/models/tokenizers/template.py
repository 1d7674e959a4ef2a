"""Adds special tokens around one or two token sequences, so that each text is tokenized only once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, kw_only=True)
class Template:
    """`before` first `between` second `after`, as token ids; `segments` are those of the five, or None."""

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
    ids, segments = encoded["input_ids"], encoded.get("token_type_ids")
    return Template(
        before=ids[:one],
        between=ids[one_end:two],
        after=ids[two_end:],
        segments=None
        if segments is None
        else (segments[:one], segments[one], segments[one_end:two], segments[two_end - 1], segments[two_end:]),
    )
