"""Metrics of ordered labels equal scikit-learn's."""

import random

import pytest
from sklearn.metrics import cohen_kappa_score, mean_absolute_error

from finetune.metrics.metric import find_metric
from finetune.metrics.scores import ordinal_metrics

ORDER = ("bad", "ok", "good", "great")


def score(name: str, gold: list[str], answers: list[str]) -> float:
    metric = find_metric(name, ordinal_metrics(ORDER))
    assert metric.score is not None and metric.sums is not None
    found = metric.score(gold, answers)
    assert found == pytest.approx(metric.sums(gold, answers).score)
    return found


def test_kappa_and_error_are_scikit_learns() -> None:
    drawn = random.Random(0)
    gold, answers = (drawn.choices(ORDER, weights, k=200) for weights in ((1, 2, 3, 4), (3, 3, 2, 2)))
    places = [[ORDER.index(label) for label in side] for side in (gold, answers)]
    assert score("quadratic kappa", gold, answers) == pytest.approx(cohen_kappa_score(*places, weights="quadratic"))
    assert score("mean absolute error", gold, answers) == pytest.approx(mean_absolute_error(*places))


def test_a_far_miss_costs_more_than_a_near_one() -> None:
    gold = ["bad", "ok", "good", "great"]
    assert score("quadratic kappa", gold, gold) == 1
    near, far = ["ok", *gold[1:]], ["great", *gold[1:]]
    assert score("quadratic kappa", gold, near) > score("quadratic kappa", gold, far)
    assert (score("mean absolute error", gold, near), score("mean absolute error", gold, far)) == (0.25, 0.75)


def test_kappa_of_one_label_is_undefined_and_a_missing_prediction_as_far_as_can_be() -> None:
    assert score("quadratic kappa", ["ok", "ok"], ["ok", "ok"]) == 0
    assert score("mean absolute error", ["bad", "good"], ["", ""]) == (3 + 2) / 2


def test_an_error_is_shown_with_two_decimals_and_less_is_better() -> None:
    kappa, error = ordinal_metrics(ORDER)
    assert (kappa.shown(0.5), kappa.range, error.shown(0.4166), error.signed(-0.25)) == (
        "50.0",
        (-1, 1),
        "0.42",
        "-0.25",
    )
    assert error.rank(0.1) > error.rank(0.2)
