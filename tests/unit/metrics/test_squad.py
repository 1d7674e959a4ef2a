"""SQuAD's exact match and F1."""

import pytest

from finetune.metrics.squad import normalised, score_korquad, score_v1, score_v2


@pytest.mark.parametrize(
    ("golds", "answer", "v1", "v2"),
    [
        (["the Cat."], "cat", (1, 1), (1, 1)),
        (["a black cat"], "The cat sat", (0, 0.5), (0, 0.5)),
        (["dog", "black cat"], "cat", (0, 2 / 3), (0, 2 / 3)),
        (["cat cat"], "cat", (0, 2 / 3), (0, 2 / 3)),
        (["dog"], "cat", (0, 0), (0, 0)),
        ([], "cat", (0, 0), (0, 0)),
        ([], "", (0, 0), (1, 1)),  # version 1.1 knows no questions without answer
        (["the"], "", (1, 0), (1, 1)),  # a gold of which nothing is left
        (["the", "cat"], "", (1, 0), (0, 0)),
        (["cat"], "the", (0, 0), (0, 0)),
        (["서울에서"], "서울에서", (1, 1), (1, 1)),
    ],
)
def test_scores_by_hand(golds: list[str], answer: str, v1: tuple[float, float], v2: tuple[float, float]) -> None:
    assert score_v1(golds, answer) == pytest.approx(v1)
    assert score_v2(golds, answer) == pytest.approx(v2)


def test_normalising_is_the_official_one() -> None:
    assert normalised("The  U.S.A. (an  example),\tan 'Apple'") == "usa example apple"
    assert normalised("theatre, a.b") == "theatre ab"


@pytest.mark.parametrize(
    ("golds", "answer", "scores"),
    [
        (["《홍길동전》"], "홍길동전", (1, 1)),
        (["(주) 카카오"], "주 카카오", (1, 1)),
        (["A.B"], "ab", (1, 1)),
        (["1989년 2월 15일"], "1989년", (0, 2 / 3)),  # 5 of 10 characters
        (["부산", "서울에서"], "서울", (0, 2 / 3)),
        (["서울 시"], "서울시", (0, 1)),  # blanks count for exact match alone
        (["the cat"], "cat", (0, 2 / 3)),  # articles stay
        (["가가"], "가나", (0, 0.5)),
        (["서울"], "", (0, 0)),
        (["「서울」"], "서울", (0, 2 / 3)),  # these brackets are not in its list
        ([], "서울", (0, 0)),
    ],
)
def test_korquad_scores_by_hand(golds: list[str], answer: str, scores: tuple[float, float]) -> None:
    assert score_korquad(golds, answer) == pytest.approx(scores)
