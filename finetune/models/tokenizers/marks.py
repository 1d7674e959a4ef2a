"""Marks that are parts of letters, and that lower-casing would strip as accents: Hindi vowel signs, voiced kana."""

import unicodedata
from collections.abc import Iterable, Iterator

import regex

MANY = 0.01  # share of a text's characters
KANA = "".join(char for char in map(chr, range(0x3040, 0x3100)) if unicodedata.normalize("NFD", char) != char)
OTHERS = r"\p{Latin}\p{Greek}\p{Cyrillic}\p{Arabic}\p{Hebrew}"  # read without accents or points
MARKS = regex.compile(rf"(?<=[\p{{L}}--[{OTHERS}]])\p{{Mn}}|[{KANA}]", regex.V1)


class MarkCount:
    """How much of the texts that went through it are such marks."""

    def __init__(self) -> None:
        self.marks = self.characters = 0

    def of(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts, counted on the way."""
        for text in texts:
            self.marks += 0 if text.isascii() else len(MARKS.findall(text))
            self.characters += len(text)
            yield text

    @property
    def are_many(self) -> bool:
        """Whether the texts are read wrongly without them."""
        return self.marks >= MANY * max(1, self.characters)
