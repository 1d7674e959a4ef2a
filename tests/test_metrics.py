"""Scores against values worked out by hand, and what happens at their edges."""

import math

import pytest

from finetune import metrics

GOLD = ["a", "a", "a", "b", "b", "b", "b", "b"]
ANSWERS = ["a", "a", "b", "b", "b", "b", "a", "b"]  # for `a`: 2 right, 1 missed, 1 too many


def test_accuracy() -> None:
    assert metrics.accuracy(GOLD, ANSWERS) == 6 / 8


def test_f1_of_one_class() -> None:
    assert metrics.f1_of("a")(GOLD, ANSWERS) == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert metrics.f1_of("b")(GOLD, ANSWERS) == pytest.approx(2 * 4 / (2 * 4 + 1 + 1))
    assert metrics.f1_of("a")(["b"], ["b"]) == 0.0


def test_matthews() -> None:
    tp, tn, fp, fn = 2, 4, 1, 1
    expected = (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert metrics.matthews(GOLD, ANSWERS) == pytest.approx(expected)
    assert metrics.matthews(GOLD, ["a"] * 8) == 0.0
    assert metrics.matthews(["a", "b"], ["b", "a"]) == -1.0


def test_correlations() -> None:
    gold, answers = [1.0, 2.0, 3.0, 4.0], [1.0, 4.0, 9.0, 16.0]
    assert metrics.spearman(gold, answers) == pytest.approx(1.0)
    assert metrics.pearson(gold, answers) == pytest.approx(0.984374, abs=1e-6)
    assert metrics.spearman([1.0, 2.0, 3.0], [1.0, 1.0, 2.0]) == pytest.approx(0.866025, abs=1e-6)  # a tie


def test_a_constant_answer_correlates_with_nothing() -> None:
    assert metrics.pearson([1.0, 2.0], [3.0, 3.0]) == 0.0
    assert metrics.spearman([1.0, 2.0], [3.0, 3.0]) == 0.0
