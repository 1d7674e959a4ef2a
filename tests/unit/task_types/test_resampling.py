"""The margin of predictions over the best baseline."""

import pytest
from support.toys import cat_rows, cat_task

from finetune.task_types.resampling import margin
from finetune.task_types.task import Answer

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


def test_without_baselines_there_is_only_the_interval() -> None:
    found = margin(cat_task(ROWS), ROWS, answers(20), {})
    assert found.interval is not None
    assert (found.baseline, found.difference, found.p) == (None, None, None)


def test_equal_predictions_differ_by_nothing_and_have_no_interval() -> None:
    found = margin(cat_task(ROWS), ROWS, answers(20), {"same": answers(20)})
    assert (found.difference, found.difference_interval, found.p) == (0, None, 1)
