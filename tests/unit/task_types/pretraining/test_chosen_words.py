"""The words that dev is scored on are a function of the text alone, and never change."""

import pytest
from support.corpora import documents

from finetune.data.documents import Document
from finetune.task_types.pretraining.dev import (
    SHARE_OF_WORDS,
    chosen_words,
    pairs_of,
    random_bits,
    words_of,
)

MIXED = Document(
    "1",
    (
        "Don't stop: it's 3.14 km, naïve café 2,000!",
        "한국어 단어는 조사와 붙는다. हिन्दी में शब्द हैं",
        "我爱北京 and カタカナ x_y",
    ),
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop: it's", ["Don", "t", "stop", "it", "s"]),
        ("3.14 km, 2,000! x9", ["3", "14", "km", "2", "000", "x9"]),
        ("naïve cafe\u0301", ["naïve", "cafe\u0301"]),
        ("한국어 단어는 조사와", ["한국어", "단어는", "조사와"]),
        ("हिन्दी में शब्द हैं", ["हिन्दी", "में", "शब्द", "हैं"]),
        ("我爱北京 and カタカナ", ["我", "爱", "北", "京", "and", "カタカナ"]),
        ("x_y -- ... \u200b", ["x", "y"]),
    ],
)
def test_words_are_runs_of_letters_marks_and_digits_and_single_ideographs(text: str, words: list[str]) -> None:
    found = words_of(Document("1", ("first", text)))
    assert [word.text for word in found] == ["first", *words]
    assert all(text[word.start : word.end] == word.text and word.line == 1 for word in found[1:])


def test_the_chosen_words_of_a_text_stay_the_same_for_ever() -> None:
    """Scores of earlier runs are of these words: this test may not be changed."""
    chosen = [(word.line, word.start, word.text) for word in chosen_words(MIXED)]
    assert chosen == [(0, 37, "2"), (0, 39, "000"), (1, 0, "한국어"), (1, 8, "조사와")]
    assert [random_bits(MIXED, number) for number in range(3)] == [
        14446943667944521463,
        1503260051432037200,
        23216385978059534,
    ]
    assert pairs_of(MIXED) == [(1, False), (2, True)]


def test_they_are_the_share_of_a_document_and_at_least_one() -> None:
    for document in documents(60, lines=(1, 9)):
        words, chosen = words_of(document), chosen_words(document)
        assert len(chosen) == max(1, round(SHARE_OF_WORDS * len(words)))
        places = [words.index(word) for word in chosen]
        assert places == sorted(places)
        assert chosen == chosen_words(Document("another id", document.lines))
    assert chosen_words(Document("1", ("...",))) == ()
