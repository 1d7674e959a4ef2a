"""`finetune predict` and `finetune explain` in Python, and what is wrong before anything is loaded."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import finetune
from finetune.commands.explain import write_explanation_page
from finetune.inference.explanation import ExplainedRow, Explanation, WordPart, text_pieces

ROWS = pd.DataFrame({"review": ["the cat sat", "the dog sat"], "mark": ["good", "bad"]})


def test_a_file_is_written_and_rows_in_memory_come_back(
    reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = finetune.load(reviews)
    ROWS.to_csv(tmp_path / "new.csv", index=False)
    done = finetune.predict(reviews, tmp_path / "new.csv", path=tmp_path / "out.csv", device="cpu")
    assert (done.path, done.rows, done.errors) == (tmp_path / "out.csv", 2, 0)
    assert done.scores["accuracy"] == 1
    written = pd.read_csv(done.path)["prediction"].tolist()
    for rows in (finetune.predict(model, ROWS), finetune.predict(finetune.open_run(reviews), ROWS, device="cpu")):
        assert rows["prediction"].tolist() == written == ["good", "bad"]
    with pytest.raises(finetune.UserError, match="rows in memory"):
        finetune.predict(model, ROWS, path=tmp_path / "no.csv")
    assert capsys.readouterr() == ("", "")


TEXTS = {"question": "who sat", "context": "the <b>cat"}
PARTS = (("question", "who", 0, 0.5), ("question", "sat", 4, -2.0), ("context", "<b>cat", 4, 1.0))


def test_a_page_of_an_explanation_has_the_texts_the_shares_and_the_label(tmp_path: Path) -> None:
    """The strongest word has the whole share; “the” has no part."""
    words = [
        WordPart(word=word, text_name=name, start=start, end=start + len(word), added=added)
        for name, word, start, added in PARTS
    ]
    one = Explanation(label="yes", confidence=0.9, value=0.5, masked=1.0, steps=32, words=words)
    row = ExplainedRow(id="1", prediction="yes", confidence=0.9, texts=TEXTS, explanations=[one])
    for name, text in TEXTS.items():
        assert "".join(piece.text for piece in text_pieces(row, one, name)) == text
    assert [piece.share for piece in text_pieces(row, one, "question") if piece.word] == [0.25, -1.0]
    for gold, said in (("", ""), ("yes", "its label is the same"), ("no", "its label is <b>no</b>")):
        write_explanation_page([replace(row, gold=gold)], tmp_path / "page.html", model="m", force=True)
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert said in page and ("its label" in page) == bool(said) and "<b>cat" not in page
    assert 'class="word minus" style="--share: 70%"' in page and 'class="word plus" style="--share: 35%"' in page
