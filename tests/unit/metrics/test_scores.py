"""Scores against values worked out by hand, and what happens at their edges."""

import math

import pytest
from sklearn.metrics import f1_score, precision_recall_fscore_support

from finetune.metrics import scores as metrics
from finetune.metrics.metric import Metric, find_metric

GOLD = ["a", "a", "a", "b", "b", "b", "b", "b"]
ANSWERS = ["a", "a", "b", "b", "b", "b", "a", "b"]  # for `a`: 2 right, 1 missed, 1 too many


def test_accuracy() -> None:
    assert metrics.accuracy.score(GOLD, ANSWERS) == 6 / 8


def test_f1_of_one_class() -> None:
    assert metrics.f1_of("a").score(GOLD, ANSWERS) == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert metrics.f1_of("b").score(GOLD, ANSWERS) == pytest.approx(2 * 4 / (2 * 4 + 1 + 1))
    assert metrics.f1_of("a").score(["b"], ["b"]) == 0.0


def test_macro_f1_is_over_the_labels_that_occur() -> None:
    assert metrics.macro_f1.score(GOLD, ANSWERS) == pytest.approx((4 / 6 + 8 / 10) / 2)
    assert metrics.macro_f1.score(GOLD, ANSWERS) == pytest.approx(f1_score(GOLD, ANSWERS, average="macro"))
    assert metrics.macro_f1.score(["a", "a"], ["a", "c"]) == pytest.approx((2 / 3 + 0) / 2)  # `c` was only answered
    assert metrics.macro_f1.score(GOLD, GOLD) == 1.0


def test_scores_of_each_label_equal_scikit_learns() -> None:
    gold, answers = [*GOLD, "c", "a", "a"], [*ANSWERS, "a", "d", "b"]
    labels = ["d", "c", "b", "a"]
    expected = precision_recall_fscore_support(gold, answers, labels=labels, zero_division=0)[:3]
    for part, scores in zip(("precision", "recall", "f1"), expected, strict=True):
        found = [metrics.class_metric(label, part).score(gold, answers) for label in labels]
        assert found == pytest.approx(list(scores))
        assert metrics.class_metric("never", part).score(gold, answers) == 0.0


def test_matthews() -> None:
    tp, tn, fp, fn = 2, 4, 1, 1
    expected = (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert metrics.matthews.score(GOLD, ANSWERS) == pytest.approx(expected)
    assert metrics.matthews.score(GOLD, ["a"] * 8) == 0.0
    assert metrics.matthews.score(["a", "b"], ["b", "a"]) == -1.0


def test_correlations() -> None:
    gold, answers = [1.0, 2.0, 3.0, 4.0], [1.0, 4.0, 9.0, 16.0]
    assert metrics.spearman.score(gold, answers) == pytest.approx(1.0)
    assert metrics.pearson.score(gold, answers) == pytest.approx(0.984374, abs=1e-6)
    assert metrics.spearman.score([1.0, 2.0, 3.0], [1.0, 1.0, 2.0]) == pytest.approx(0.866025, abs=1e-6)  # a tie


@pytest.mark.parametrize(
    ("gold", "answers"),
    [
        ([1.0, 2.0, 3.0], [3.0, 3.0, 3.0]),
        ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]),
        ([1.0, 2.0, 3.0], [math.nan, 1.0, 2.0]),
        ([1.0, 2.0, 3.0], [math.inf, 1.0, 2.0]),
        ([1.0], [1.0]),
    ],
)
def test_an_undefined_correlation_is_0_however_it_is_counted(gold: list[float], answers: list[float]) -> None:
    for correlation in (metrics.pearson, metrics.spearman):
        assert correlation.score(gold, answers) == 0.0
    counts = metrics.pearson.sums(gold, answers)
    assert counts.score == 0.0


def test_a_score_that_is_not_a_number_is_the_worst() -> None:
    assert max([math.nan, -1.0, 0.5, math.nan], key=metrics.accuracy.rank) == 0.5
    assert max([math.nan, -1.0], key=metrics.accuracy.rank) == -1.0


def test_of_a_metric_where_less_is_better_the_least_is_the_best() -> None:
    perplexity = Metric("perplexity", scale=1, greater_is_better=False)
    assert max([math.nan, 30.0, 12.5], key=perplexity.rank) == 12.5
    assert (perplexity.shown(12.5), metrics.accuracy.shown(0.5)) == ("12.5", "50.0")


def test_a_score_is_shown_by_the_metric_of_its_name_or_of_its_name_without_the_group() -> None:
    error, small = Metric("error", scale=1), Metric("big/small/error", scale=10)
    found = [find_metric(name, (error, small)) for name in ("error", "PER/error", "big/small/error", "odd")]
    assert found == [error, error, small, Metric("odd")]


def test_a_constant_answer_correlates_with_nothing() -> None:
    assert metrics.pearson.score([1.0, 2.0], [3.0, 3.0]) == 0.0
    assert metrics.spearman.score([1.0, 2.0], [3.0, 3.0]) == 0.0


def test_an_interval_has_only_scores_that_are_possible() -> None:
    wide = (-1.5, 1.7)
    assert metrics.accuracy.possible(wide, around=0.5) == (0.0, 1.0)
    assert find_metric("PER/f1", ()).possible(wide, around=0.5) == (0.0, 1.0)
    for name in ("matthews", "pearson", "spearman"):
        assert find_metric(name, ()).possible(wide, around=0.5) == (-1.0, 1.0)
        assert find_metric(name, ()).possible_difference((-3.0, 1.7), around=0.1) == (-2.0, 1.7)
    assert metrics.accuracy.possible_difference(wide, around=0.1) == (-1.0, 1.0)
    assert Metric("error", scale=1, greater_is_better=False).possible(wide, around=0.5) == wide
    assert Metric("r2").possible((-3.0, -1.0), around=-2.0) == (-3.0, -1.0)
    assert metrics.accuracy.possible(None, around=0.5) is None


def test_zero_has_no_minus_sign() -> None:
    assert (metrics.accuracy.shown(-0.0), metrics.accuracy.shown(-0.0001)) == ("0.0", "0.0")
    assert (metrics.accuracy.signed(-0.0), metrics.accuracy.signed(-0.0001)) == ("+0.0", "+0.0")
    assert (metrics.accuracy.shown(-0.12), metrics.accuracy.signed(0.12)) == ("-12.0", "+12.0")
