"""MRR, NDCG and average precision: known values, scikit-learn's, and ties as the mean over all orders."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from finetune.metrics.ranking import CUT, ranking_scores


def by_hand(grades: list[float]) -> dict[str, float]:
    """The scores of passages in this order, from the definitions."""
    places = [place for place, grade in enumerate(grades, start=1) if grade > 0]
    gains = [grade / np.log2(place + 1) for place, grade in enumerate(grades, start=1)]
    best = [grade / np.log2(place + 1) for place, grade in enumerate(sorted(grades, reverse=True), start=1)]
    return {
        f"ndcg@{CUT}": sum(gains[:CUT]) / sum(best[:CUT]),
        f"mrr@{CUT}": 1 / places[0] if places[0] <= CUT else 0.0,
        "map": sum(number / place for number, place in enumerate(places, start=1)) / len(places),
    }


@pytest.mark.parametrize("seed", range(10))
def test_scores_are_those_of_the_definitions_and_of_scikit_learn(seed: int) -> None:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(2, 30))
    grades = generator.integers(0, 4, count).astype(float)
    grades[generator.integers(count)] = 2
    scores = generator.permutation(count).astype(float)
    found = ranking_scores(grades, scores)
    assert found == pytest.approx(by_hand(grades[np.argsort(-scores)].tolist()))
    assert found["ndcg@10"] == pytest.approx(ndcg_score([grades], [scores], k=CUT))
    assert found["map"] == pytest.approx(average_precision_score(grades > 0, scores))


@pytest.mark.parametrize(
    ("grades", "scores"),
    [
        ([1, 0, 0], [0, 0, 0]),
        ([0, 1, 2, 0], [3, 1, 1, 1]),
        ([1, 0, 1, 0, 1], [2, 2, 1, 1, 1]),
        ([0, 0, 3, 1, 0, 0], [1, 1, 1, 0, 0, 0]),
    ],
)
def test_ties_are_the_mean_over_all_orders(grades: list[float], scores: list[float]) -> None:
    orders = [
        by_hand([grades[i] for i in order])
        for order in itertools.permutations(range(len(grades)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    means = {name: float(np.mean([one[name] for one in orders])) for name in orders[0]}
    assert ranking_scores(grades, scores) == pytest.approx(means)
    assert ranking_scores(grades[::-1], scores[::-1]) == pytest.approx(means)


def test_ties_beyond_the_cut_count_as_far_as_they_reach_it() -> None:
    found = ranking_scores([*[0.0] * 19, 1.0], [0.0] * 20)
    assert found["mrr@10"] == pytest.approx(sum(1 / place for place in range(1, 11)) / 20)
    assert found["ndcg@10"] == pytest.approx(ndcg_score([[*[0] * 19, 1]], [[0] * 20], k=CUT))
