"""Words with their tags."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from finetune.data.rows import ADDED_LATER


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingRow:
    """The words of a sentence with their tags in IOB2; sentences of one document have the same `document`.

    Words of a running text have that `text`, and the index of the first character of each in `starts`. Those that were
    split from a `raw` text, which the model reads as words, have their places in it.
    """

    id: str
    words: tuple[str, ...]
    gold: tuple[str, ...] | None = None
    document: str = ""
    text: str = field(default="", metadata=ADDED_LATER)
    starts: tuple[int, ...] = field(default=(), metadata=ADDED_LATER)
    raw: str = field(default="", metadata=ADDED_LATER)

    @property
    def input(self) -> str:
        """The text, or the words with spaces between them."""
        return self.text or " ".join(self.words)

    @property
    def places(self) -> list[tuple[int, int]]:
        """The (start, end) of each word in `input`."""
        return word_places(self.words, self.starts if self.text else ())

    @property
    def given(self) -> tuple[str, list[tuple[int, int]]]:
        """The text as the user gave it, and the (start, end) of each word in it."""
        return (self.raw, word_places(self.words, self.starts)) if self.raw else (self.input, self.places)


def word_places(words: Sequence[str], starts: Sequence[int]) -> list[tuple[int, int]]:
    """The (start, end) of words with these first characters, or without any with spaces between them."""
    begins = starts or accumulate((len(word) + 1 for word in words[:-1]), initial=0)
    return [(start, start + len(word)) for start, word in zip(begins, words, strict=True)]
