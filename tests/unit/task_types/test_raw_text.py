"""Raw texts for a model of tags: signs are split off the words where the training data has them apart."""

from dataclasses import replace
from pathlib import Path

import pytest

from finetune.data.reading import table_of
from finetune.task_types.columns import Layout
from finetune.task_types.guess import guess
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find
from finetune.task_types.tagging.segments import signs_are_apart, split_words
from finetune.task_types.types import named_type, rows_of, trained_task

TOKENISED = "EU\tB-ORG\n,\tO\nParis\tB-LOC\n.\tO\n\nAnna\tB-PER\nslept\tO\n.\tO\n\nShe\tO\nleft\tO\n;\tO\nbye\tO\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("We met in Paris.", "We met in Paris ."),
        ("(New York), the U.S. and Dr. Smith's car...", "( New York ) , the U.S. and Dr. Smith 's car ..."),
        ("‘Oh!’ she said", "‘ Oh ! ’ she said"),
        ("He paid 1,000.50 at 3:15.", "He paid 1,000.50 at 3:15 ."),
        ("Mr. Smith saw Rome .", "Mr. Smith saw Rome ."),  # tokenised already
        ("...", "..."),
    ],
)
def test_signs_are_split_off_and_places_are_those_in_the_text(text: str, words: str) -> None:
    found, starts = split_words(text)
    assert list(found) == words.split()
    assert all(text.startswith(word, start) for word, start in zip(found, starts, strict=True))


def test_the_training_data_decides(tmp_path: Path) -> None:
    assert signs_are_apart(["a", ",", "b", ",", "c,", "."])
    assert not signs_are_apart(["in", "Paris,", "we", "met,", "and", "left", "."])
    (tmp_path / "train.conll").write_text(TOKENISED)
    (tmp_path / "joined.conll").write_text(TOKENISED.replace("\n,\tO", "\nLtd,\tO").replace("\n;\tO", "\nso;\tO"))
    for name, apart in (("train.conll", True), ("joined.conll", False)):
        table = table_of(tmp_path / name)
        layout = guess(table, {})
        assert layout.signs_apart is apart
        task = trained_task(layout, name=name)
        row = task.row("She left Paris.")  # type: ignore[attr-defined]
        assert row.words == (("She", "left", "Paris", ".") if apart else ("She", "left", "Paris."))
        (_, given), *_ = rows_of(replace(named_type("tagging").fitted(layout, task), label=()), table)
        assert given.words == ("EU", "," if apart else "Ltd,", "Paris", ".")  # type: ignore[union-attr]


def test_an_entity_ends_before_the_full_stop(tmp_path: Path) -> None:
    (tmp_path / "train.conll").write_text(TOKENISED)
    task = trained_task(guess(table_of(tmp_path / "train.conll"), {}), name="train.conll")
    row = task.row("She left  Paris.")  # type: ignore[attr-defined]
    cells = task.cells(Answer(value=["O", "O", "B-LOC", "O"]), row)
    assert cells["entities"] == [{"type": "LOC", "text": "Paris", "start": 10, "end": 15}]
    assert cells["characters"] == [[0, 3], [4, 8], [10, 15], [15, 16]]
    assert row.input == "She left Paris ."  # what the encoder reads, as in training


def test_a_raw_text_becomes_characters_where_the_task_has_them() -> None:
    """Its spaces are only in the text; a text of single characters is taken to be split already."""
    kind = named_type("tagging")
    layout = kind.fitted(Layout(shape="tagging", text=("text",)), find("klue-ner"))
    first, second = (kind.row(layout, {"text": text}, "1") for text in ("김 구는 2번 갔다.", "김 구 는"))
    assert ("".join(first.words), first.text) == ("김구는2번갔다.", "김 구는 2번 갔다.")
    assert [first.text[start] for start in first.starts] == list(first.words)
    assert (second.words, second.text) == (("김", "구", "는"), "김구는")
