"""Intervals of scores where all rows are alike: Wilson's."""

import pytest
from scipy.stats import binomtest
from support.toys import cat_rows, cat_task

from finetune.metrics import Metric, accuracy, f1_of, macro_f1, matthews
from finetune.task_types.parts import Answer
from finetune.task_types.resampling import difference_of, margin

ROWS = cat_rows(200)


def answers(wrong: int) -> list[Answer]:
    """Predictions of which the first `wrong` are wrong."""
    other = {"yes": "no", "no": "yes"}
    return [Answer(value=other[str(row.gold)] if i < wrong else row.gold) for i, row in enumerate(ROWS)]


@pytest.mark.parametrize("right", [0, 200])
def test_where_all_rows_are_alike_the_interval_is_wilsons(right: int) -> None:
    found = margin(cat_task(ROWS), ROWS, answers(200 - right), {"good": answers(60)})
    assert found.interval == pytest.approx(binomtest(right, 200).proportion_ci(method="wilson"))


@pytest.mark.parametrize(("metric", "counting"), [(f1_of("yes"), 10), (macro_f1, 40), (accuracy, 40), (matthews, 40)])
def test_a_perfect_score_has_the_interval_of_the_rows_that_it_counts(metric: Metric, counting: int) -> None:
    gold = ["yes"] * 10 + ["no"] * 30
    assert metric.sums is not None
    right, least = metric.sums(gold, gold), metric.range[0]
    low = least + (1 - least) * binomtest(counting, counting).proportion_ci(method="wilson").low
    both = difference_of(metric, [right], [right], resamples=200)
    assert (both.value, both.p) == (0, 1)
    assert both.interval == pytest.approx((low - 1, 1 - low))  # of two perfect sides, which other rows may tell apart
