"""KLUE's scores: numbers worked out by hand for each trap of its scorer, and other implementations on random rows."""

import random

import pytest
from seqeval.metrics import f1_score as seqeval_f1
from seqeval.scheme import IOB2
from sklearn.metrics import f1_score

from finetune.metrics.klue import character_macro_f1, entity_macro_f1, normalised_korean, score_mrc

LABELS = ("O", "B-PS", "I-PS", "B-LC", "I-LC")


@pytest.mark.parametrize(
    ("gold", "given", "score"),
    [
        ("B-PS O B-PS O B-PS O B-LC", "B-PS O B-PS O B-PS O O", 0.5),  # PS 3 of 3, LC 0 of 1; micro F1 would be 0.75
        ("B-PS I-PS O", "B-PS I-PS O", 1),  # a type that neither side has is left out,
        ("B-PS I-PS O", "B-PS I-PS B-LC", 0.5),  # and one that is only predicted counts
        ("O O", "O O", 0),
        ("B-PS I-PS O", "I-PS I-PS O", 0),  # an I after O or another type begins nothing; conlleval would count both
        ("B-PS I-PS O", "B-PS I-LC O", 0),
        ("B-PS O O", "B-PS I-LC O", 1),
        ("O B-PS\nI-PS O", "O B-PS\nO O", 1),  # neighbouring sentences are not joined
    ],
)
def test_entities(gold: str, given: str, score: float) -> None:
    rows = [[line.split() for line in side.split("\n")] for side in (gold, given)]
    assert entity_macro_f1(*rows).score == score


@pytest.mark.parametrize(
    ("gold", "given", "labels", "score"),
    [
        # O: 2 * 1 / (1 + 2); B-PS: 2 * 1 / (2 + 1); I-PS 1; B-LC and I-LC are nowhere: 1 each
        ("B-PS I-PS O O", "B-PS I-PS B-PS O", LABELS, (2 / 3 + 2 / 3 + 3) / 5),
        # KLUE-baseline counts [CLS] and the last position too, both O: that would change O to 2 * 3 / (3 + 4)
        ("O B-PS I-PS O O O", "O B-PS I-PS B-PS O O", LABELS, (6 / 7 + 2 / 3 + 3) / 5),
    ],
)
def test_characters(gold: str, given: str, labels: tuple[str, ...], score: float) -> None:
    assert character_macro_f1([gold.split()], [given.split()], labels).score == pytest.approx(score)


def test_answers_are_compared_without_ascii_signs_and_with_korean_ones() -> None:
    texts = {"  The  (한국)  'MBC',  ": "the 한국 mbc", "《토지》": "《토지》", "‘봄’": "‘봄’", "<()‘’봄": "봄"}
    assert {text: normalised_korean(text) for text in texts} == texts


@pytest.mark.parametrize(
    ("golds", "answer", "scores"),
    [
        (["토지"], "《토지》", (0, 2 * 2 / (2 + 4))),
        (["한 달가량", "한 달"], "한 달.", (1, 1)),  # the best label counts
        ([], "", (1, 1)),
        ([], "한 달", (0, 0)),
        (["한 달"], "", (0, 0)),
        (["...", "한 달"], "", (1, 1)),  # a label of signs alone is empty
        (["한 달가량"], "한 달", (0, 0.75)),  # the run has 3 of 5 and 3 characters
        (["이순신장군"], "이 장군", (0, 4 / 9)),  # the longest run, not a subsequence
        # As difflib reads the label in KLUE's scorer: in 200 characters a run does not begin at frequent ones.
        (["나" + "가" * 199], "가" * 199, (0, 0)),
        (["나" + "가" * 198], "가" * 198, (0, 2 * 198 / (199 + 198))),
    ],
)
def test_answers(golds: list[str], answer: str, scores: tuple[float, float]) -> None:
    assert score_mrc(golds, answer) == pytest.approx(scores)


def random_tags(rows: int, draw: random.Random) -> list[list[str]]:
    return [draw.choices(LABELS, k=3 + number % 9) for number in range(rows)]


def test_characters_equal_scikit_learn() -> None:
    gold, given = (random_tags(40, random.Random(seed)) for seed in (1, 2))
    flat = [[tag for row in side for tag in row] for side in (gold, given)]
    labels = [*LABELS, "B-DT", "I-DT"]
    expected = f1_score(*flat, labels=labels, average="macro", zero_division=1)
    assert character_macro_f1(gold, given, labels).score == pytest.approx(expected)


def test_entities_equal_seqeval() -> None:
    """All sentences as one, with an O between them, as KLUE-baseline scores them."""
    for seed in range(20):
        gold, given = (random_tags(12, random.Random(2 * seed + side)) for side in (0, 1))
        joined = [[tag for row in side for tag in ("O", *row, "O")] for side in (gold, given)]
        expected = seqeval_f1([joined[0]], [joined[1]], average="macro", mode="strict", scheme=IOB2)
        assert entity_macro_f1(gold, given).score == pytest.approx(expected)
