"""The margin of predictions over the best baseline."""

import pytest
from scipy.stats import binomtest
from support.toys import cat_rows, cat_task

from finetune.metrics import Metric, accuracy, f1_of, macro_f1, matthews
from finetune.task_types.parts import Answer
from finetune.task_types.resampling import difference_of, margin

ROWS = cat_rows(200)
LABELS = [row.gold for row in ROWS]


def answers(wrong: int) -> list[Answer]:
    """Predictions of which the first `wrong` are wrong."""
    other = dict(zip(sorted(set(LABELS)), sorted(set(LABELS), reverse=True), strict=True))
    return [Answer(value=other[label] if i < wrong else label) for i, label in enumerate(LABELS)]


def test_the_margin_is_over_the_best_baseline_on_the_same_rows() -> None:
    found = margin(cat_task(ROWS), ROWS, answers(20), {"good": answers(60), "bad": answers(100)})
    assert found.baseline == "good"
    assert found.difference == pytest.approx(0.2)
    # the rows in which the two differ are 40 of 200, so the difference has the spread of a share of 0.2
    assert found.difference_interval == pytest.approx((0.145, 0.255), abs=0.01)
    assert found.interval == pytest.approx((0.858, 0.942), abs=0.01)
    assert found.p is not None
    assert found.p < 0.001


def test_where_all_rows_are_right_the_interval_is_wilsons() -> None:
    found = margin(cat_task(ROWS), ROWS, answers(0), {"good": answers(60)})
    assert found.interval == pytest.approx(binomtest(200, 200).proportion_ci(method="wilson"))
    least = margin(cat_task(ROWS), ROWS, answers(200), {}).interval
    assert least == pytest.approx(binomtest(0, 200).proportion_ci(method="wilson"))


@pytest.mark.parametrize(("metric", "counting"), [(f1_of("yes"), 10), (macro_f1, 40), (accuracy, 40), (matthews, 40)])
def test_a_perfect_score_has_the_interval_of_the_rows_that_it_counts(metric: Metric, counting: int) -> None:
    gold = ["yes"] * 10 + ["no"] * 30
    assert metric.sums is not None
    right = metric.sums(gold, gold)
    least = metric.range[0]
    low = least + (1 - least) * binomtest(counting, counting).proportion_ci(method="wilson").low
    both = difference_of(metric, [right], [right], resamples=200)
    assert (both.value, both.p) == (0, 1)
    assert both.interval == pytest.approx((low - 1, 1 - low))  # of two perfect sides, which other rows may tell apart


def test_a_perfect_model_is_better_than_a_baseline_that_is_never_right() -> None:
    found = margin(cat_task(ROWS), ROWS, answers(0), {"bad": answers(200)})
    assert found.difference_interval is not None
    low, high = found.difference_interval
    assert 0.95 < low < high == 1
