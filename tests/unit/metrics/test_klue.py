"""KLUE's scores: numbers worked out by hand for each trap of its scorer, and other implementations on random rows."""

import random
from collections.abc import Callable, Sequence

import pytest

from finetune.metrics import f1_from, macro_f1
from finetune.metrics.klue import character_macro_f1, entity_macro_f1, normalised_korean, rouge_w, score_mrc

LABELS = ("O", "B-PS", "I-PS", "B-LC", "I-LC")


def entities(gold: str, given: str) -> float:
    return entity_macro_f1([gold.split()], [given.split()]).score


def characters(gold: str, given: str, labels: Sequence[str] = LABELS) -> float:
    return character_macro_f1([gold.split()], [given.split()], labels).score


def test_entities_are_averaged_over_types_and_not_over_entities() -> None:
    """PS: 3 of 3 right; LC: 0 of 1. Micro F1 would be 0.75."""
    assert entities("B-PS O B-PS O B-PS O B-LC", "B-PS O B-PS O B-PS O O") == 0.5


def test_a_type_that_neither_side_has_is_left_out_and_one_that_is_only_predicted_counts() -> None:
    assert entities("B-PS I-PS O", "B-PS I-PS O") == 1.0
    assert entities("B-PS I-PS O", "B-PS I-PS B-LC") == 0.5
    assert entities("O O", "O O") == 0.0


def test_entities_are_strict_iob2() -> None:
    """An I-PS after O, or after another type, begins nothing; conlleval would count both."""
    assert entities("B-PS I-PS O", "I-PS I-PS O") == 0.0
    assert entities("B-PS I-PS O", "B-PS I-LC O") == 0.0
    assert entities("B-PS O O", "B-PS I-LC O") == 1.0


def test_entities_of_neighbouring_sentences_are_not_joined() -> None:
    counted = entity_macro_f1([["O", "B-PS"], ["I-PS", "O"]], [["O", "B-PS"], ["O", "O"]])
    assert counted.score == 1.0
    assert counted.size == 2


def test_characters_count_o_and_labels_that_are_nowhere_count_1() -> None:
    """O: 2 * 1 / (1 + 2); B-PS: 2 * 1 / (2 + 1); I-PS 1; B-LC and I-LC are nowhere: 1 each."""
    assert characters("B-PS I-PS O O", "B-PS I-PS B-PS O") == pytest.approx((2 / 3 + 2 / 3 + 3) / 5)
    assert characters("B-PS", "B-PS", ("O", "B-PS")) == 1.0


def test_o_of_the_first_and_last_position_would_change_little() -> None:
    """KLUE-baseline also counts [CLS] and the last position of each sentence, both O; we count characters alone."""
    gold, given = "B-PS I-PS O O", "B-PS I-PS B-PS O"
    with_ends = characters(f"O {gold} O", f"O {given} O")
    assert with_ends == pytest.approx((6 / 7 + 2 / 3 + 3) / 5)  # O: 2 * 3 / (3 + 4)
    assert entities(f"O {gold} O", f"O {given} O") == entities(gold, given)


def test_sts_is_binarised_at_3_and_not_rounded() -> None:
    """Labels 3.0 and 4.2 are positive, 2.9 is not; 2.96 stays negative though it is 3.0 when rounded."""
    metric = f1_from(3)
    gold, given = [3.0, 2.9, 4.2, 1.0], [2.96, 3.0, 3.5, 0.2]
    assert metric.name == "f1"
    assert metric.score is not None
    assert metric.sums is not None
    assert metric.score(gold, given) == metric.sums(gold, given).score == 0.5  # 1 right, 2 predicted, 2 true
    assert metric.score([1.0, 2.0], [1.0, 2.0]) == 0.0


def test_topics_are_averaged_over_classes() -> None:
    """a: 2 * 2 / (3 + 2) = 0.8, b: 0, c (only predicted) does not occur: mean of 0.8 and 0."""
    assert macro_f1.score is not None
    assert macro_f1.score(["a", "a", "b"], ["a", "a", "a"]) == pytest.approx(0.4)


def test_answers_are_compared_without_ascii_signs_and_with_korean_ones() -> None:
    assert normalised_korean("  The  (한국)  'MBC',  ") == "the 한국 mbc"
    assert normalised_korean("《토지》") == "《토지》"
    assert normalised_korean("‘봄’") == "‘봄’"
    assert normalised_korean("<()‘’봄") == "봄"
    assert score_mrc(["토지"], "《토지》") == (0.0, pytest.approx(2 * 2 / (2 + 4)))


def test_rouge_is_of_the_longest_run_and_not_of_a_subsequence() -> None:
    """한 달가량 (5 characters) against 한 달 (3): 2 * 3 / 8. 이순신장군 against 이 장군: the run is 장군, 2 * 2 / 9."""
    assert rouge_w("한 달가량", "한 달") == 0.75
    assert rouge_w("이순신장군", "이 장군") == pytest.approx(4 / 9)
    assert rouge_w("가나", "다라") == 0.0


def test_the_best_label_counts_and_no_answer_is_right_only_where_there_is_none() -> None:
    assert score_mrc(["한 달가량", "한 달"], "한 달.") == (1.0, 1.0)
    assert score_mrc([], "") == (1.0, 1.0)
    assert score_mrc([], "한 달") == (0.0, 0.0)
    assert score_mrc(["한 달"], "") == (0.0, 0.0)
    assert score_mrc(["...", "한 달"], "") == (1.0, 1.0)  # a label of signs alone is empty


def longest_run(gold: str, answer: str) -> int:
    """By the table of common suffixes."""
    lengths, best = [0] * (len(answer) + 1), 0
    for character in gold:
        new = [0]
        for place, other in enumerate(answer):
            new.append(lengths[place] + 1 if character == other else 0)
        lengths, best = new, max(best, *new)
    return best


def test_rouge_equals_a_table_of_common_suffixes() -> None:
    draw = random.Random(0)
    for _ in range(500):
        gold, answer = ("".join(draw.choices("가나다 ", k=draw.randint(1, 12))) for _ in range(2))
        assert rouge_w(gold, answer) == pytest.approx(2 * longest_run(gold, answer) / (len(gold) + len(answer)))


def test_the_run_in_a_label_of_200_characters_does_not_begin_at_frequent_ones() -> None:
    """As difflib reads the label of KLUE's scorer: in 200 characters, those that are there more than 3 times."""
    assert rouge_w("나" + "가" * 199, "가" * 199) == 0.0
    assert rouge_w("나" + "가" * 198, "가" * 198) == pytest.approx(2 * 198 / (199 + 198))


def random_tags(rows: int, draw: random.Random) -> list[list[str]]:
    return [draw.choices(LABELS, k=3 + number % 9) for number in range(rows)]


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_characters_equal_scikit_learn(rows: int) -> None:
    from sklearn.metrics import f1_score

    gold, given = (random_tags(rows, random.Random(seed)) for seed in (1, 2))
    flat = [[tag for row in side for tag in row] for side in (gold, given)]
    labels = [*LABELS, "B-DT", "I-DT"]
    expected = f1_score(*flat, labels=labels, average="macro", zero_division=1)
    assert character_macro_f1(gold, given, labels).score == pytest.approx(expected)


def test_entities_equal_seqeval() -> None:
    """All sentences as one, with an O between them, as KLUE-baseline scores them."""
    seqeval: Callable[..., float] = pytest.importorskip("seqeval.metrics").f1_score
    from seqeval.scheme import IOB2

    for seed in range(20):
        gold, given = (random_tags(12, random.Random(2 * seed + side)) for side in (0, 1))
        joined = [[tag for row in side for tag in ("O", *row, "O")] for side in (gold, given)]
        expected = seqeval([joined[0]], [joined[1]], average="macro", mode="strict", scheme=IOB2)
        assert entity_macro_f1(gold, given).score == pytest.approx(expected)
