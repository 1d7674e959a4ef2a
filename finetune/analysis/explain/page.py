"""Rows with what each word adds, as an HTML page without scripts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from finetune.analysis.pages.templates import templates_of
from finetune.analysis.pages.write import write_page
from finetune.inference.explain.explanation import ExplainedRow, Explanation, WordPart, signed


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of a text: a word with its part, or what is between words. `share` is of the strongest part, -1 to 1,
    unless that is small.
    """

    text: str
    word: WordPart | None = None
    share: float = 0.0


def write_explained(rows: Sequence[ExplainedRow], output: Path, *, model: str) -> int:
    """Writes the page and returns its size in bytes. Raises UserError without jinja2, and if it cannot be written."""
    template = templates_of("finetune.analysis.explain").get_template("page.html.j2")
    return write_page(template.render(rows=rows, model=model, pieces=pieces, signed=signed), output)


def pieces(row: ExplainedRow, one: Explanation, name: str) -> Iterator[Piece]:
    """The text of that name, cut at its words."""
    text, place = row.texts[name], 0
    for word in (word for word in one.words if word.text_name == name):
        yield Piece(text=text[place : word.start])
        yield Piece(text=text[word.start : word.end], word=word, share=word.added / one.full)
        place = word.end
    yield Piece(text=text[place:])
