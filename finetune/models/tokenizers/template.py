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
        """(token ids, segment ids) of a pair."""
        ids = np.concatenate([self.before, first, self.between, second, self.after]).astype(np.int32)
        if self.segments is None:
            return ids, None
        before, one, between, two, after = self.segments
        parts = [before, [one] * len(first), between, [two] * len(second), after]
        return ids, np.concatenate(parts).astype(np.int8)


@dataclass(frozen=True, kw_only=True)
class SingleTemplate:
    """`before` text `after`, as token ids; `segments`: the encoder reads segment ids, which are 0."""

    before: list[int]
    after: list[int]
    segments: bool

    @property
    def special_tokens(self) -> int:
        """The number of special tokens."""
        return len(self.before) + len(self.after)


def single_template(tokenizer: "PreTrainedTokenizerBase") -> SingleTemplate:
    """A fast tokenizer's template for one text, inferred from its output for one."""
    encoded = tokenizer("a")
    texts, ids = encoded.sequence_ids(0), encoded["input_ids"]
    one = texts.index(0)
    return SingleTemplate(
        before=ids[:one], after=ids[one + texts.count(0) :], segments=encoded.get("token_type_ids") is not None
    )


def pair_template(tokenizer: "PreTrainedTokenizerBase") -> Template:
    """A fast tokenizer's template for pairs, inferred from its output for one."""
    encoded = tokenizer("a", "b")
    texts = encoded.sequence_ids(0)
    one, two = texts.index(0), texts.index(1)
    one_end, two_end = one + texts.count(0), two + texts.count(1)
    ids, segments = encoded["input_ids"], encoded.get("token_type_ids")
    return Template(
        before=ids[:one],
        between=ids[one_end:two],
        after=ids[two_end:],
        segments=None
        if segments is None
        else (segments[:one], segments[one], segments[one_end:two], segments[two], segments[two_end:]),
    )
