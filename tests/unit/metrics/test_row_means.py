"""Intervals of a mean score, against scipy."""

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp

from finetune.metrics.significance import mean_interval


def some(right: int, of: int) -> np.ndarray:
    return np.array([1.0] * right + [0.0] * (of - right))


@pytest.mark.parametrize(("right", "of"), [(16, 16), (0, 10), (5, 9), (700, 1_000), (99_999, 100_000)])
def test_the_interval_of_right_and_wrong_rows_is_wilsons(right: int, of: int) -> None:
    found = mean_interval(some(right, of), bounded=True)
    assert found == pytest.approx(binomtest(right, of).proportion_ci(method="wilson"))
    assert found is not None and found[0] < right / of + 1e-9 and found[1] - found[0] > 1e-5


def test_other_scores_have_students_interval() -> None:
    draw = np.random.default_rng(0)
    a = draw.gamma(2, 1, 30)
    assert mean_interval(a, bounded=False) == pytest.approx(ttest_1samp(a, 0).confidence_interval())


def test_an_interval_has_only_possible_scores_and_is_unknown_without_spread() -> None:
    found = mean_interval(np.array([0.9, 1.0, 1.0]), bounded=True)
    assert found is not None and found[1] == 1.0
    assert mean_interval(np.array([0.1, 9.0, 0.1]), bounded=False)[0] == 0.0  # type: ignore[index]
    assert mean_interval(np.full(5, 0.5), bounded=True) is None
    assert mean_interval(np.array([2.0]), bounded=False) is None
