"""The texts of an explained row, cut at their words."""

from collections.abc import Iterator
from dataclasses import dataclass

from finetune.inference.explain.explanation import ExplainedRow, Explanation, WordPart


@dataclass(frozen=True, kw_only=True)
class TextPiece:
    """A piece of a text: a word with its part, or what is between words. `share` is of the strongest part, -1 to 1,
    unless that is small.
    """

    text: str
    word: WordPart | None = None
    share: float = 0.0


def text_pieces(row: ExplainedRow, one: Explanation, name: str) -> Iterator[TextPiece]:
    """The text of that name, cut at its words."""
    text, place = row.texts[name], 0
    for word in (word for word in one.words if word.text_name == name):
        yield TextPiece(text=text[place : word.start])
        yield TextPiece(text=text[word.start : word.end], word=word, share=word.added / one.full)
        place = word.end
    yield TextPiece(text=text[place:])
