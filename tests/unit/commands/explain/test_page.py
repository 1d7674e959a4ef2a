"""The page of `finetune explain`."""

from dataclasses import replace
from pathlib import Path

import pytest

from finetune.commands.explain import write_explanation_page
from finetune.inference.explanation import ExplainedRow, Explanation, WordPart, text_pieces

TEXTS = {"question": "who sat", "context": "the cat"}
PARTS = (("question", "who", 0, 0.5), ("question", "sat", 4, -2.0), ("context", "cat", 4, 1.0))


@pytest.fixture
def row() -> ExplainedRow:
    """A row of two texts; “the” has no part."""
    words = [
        WordPart(word=word, text_name=name, start=start, end=start + len(word), added=added)
        for name, word, start, added in PARTS
    ]
    one = Explanation(label="yes", confidence=0.9, value=0.5, masked=1.0, steps=32, words=words)
    return ExplainedRow(id="1", prediction="yes", confidence=0.9, texts=TEXTS, explanations=[one])


def test_the_pieces_are_the_text_and_the_strongest_word_has_the_whole_share(row: ExplainedRow) -> None:
    for name, text in TEXTS.items():
        assert "".join(piece.text for piece in text_pieces(row, row.explanations[0], name)) == text
    shares = [piece.share for piece in text_pieces(row, row.explanations[0], "question") if piece.word]
    assert shares == [0.25, -1.0]


def test_the_page_has_the_label_of_a_row_that_has_one(row: ExplainedRow, tmp_path: Path) -> None:
    for gold, words in (("", []), ("yes", ["its label is the same"]), ("no", ["its label is <b>no</b>"])):
        write_explanation_page([replace(row, gold=gold)], tmp_path / "page.html", model="m", force=True)
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert ("its label" in page) == bool(words) and all(word in page for word in words)


def test_the_page_draws_the_shares(row: ExplainedRow, tmp_path: Path) -> None:
    write_explanation_page([row], tmp_path / "page.html", model="m", force=False)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'class="word minus" style="--share: 70%"' in page
    assert 'class="word plus" style="--share: 35%"' in page
