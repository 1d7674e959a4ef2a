"""Intervals of a mean score and tests of a difference, against scipy."""

import numpy as np
import pytest
from scipy.stats import binomtest, fisher_exact, ttest_1samp, ttest_ind

from finetune.metrics.row_means import difference_p, mean_interval


def some(right: int, of: int) -> np.ndarray:
    return np.array([1.0] * right + [0.0] * (of - right))


@pytest.mark.parametrize(("right", "of"), [(16, 16), (0, 10), (5, 9), (700, 1_000), (99_999, 100_000)])
def test_the_interval_of_right_and_wrong_rows_is_wilsons(right: int, of: int) -> None:
    found = mean_interval(some(right, of), bounded=True)
    assert found == pytest.approx(binomtest(right, of).proportion_ci(method="wilson"))
    assert found is not None and found[0] < right / of + 1e-9 and found[1] - found[0] > 1e-5


@pytest.mark.parametrize(
    "table", [(16, 16, 129, 159), (0, 10, 3, 9), (5, 9, 5, 9), (30, 40, 1, 60), (700, 1_000, 650, 1_000), (3, 3, 2, 2)]
)
def test_right_and_wrong_rows_are_compared_by_fishers_exact_test(table: tuple[int, int, int, int]) -> None:
    a, n, b, m = table
    expected = fisher_exact([[a, n - a], [b, m - b]]).pvalue
    assert difference_p(some(a, n), some(b, m), bounded=True) == pytest.approx(expected, abs=1e-9)


def test_fishers_test_is_exact_for_many_rows() -> None:
    found = difference_p(some(48_000, 50_000), some(47_900, 50_000), bounded=True)
    assert found == pytest.approx(fisher_exact([[48_000, 2_000], [47_900, 2_100]]).pvalue, rel=1e-5)


def test_other_scores_have_students_interval_and_welchs_test() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.gamma(2, 1, 30), draw.gamma(3, 1, 50)
    assert mean_interval(a, bounded=False) == pytest.approx(ttest_1samp(a, 0).confidence_interval())
    assert difference_p(a, b, bounded=False) == pytest.approx(ttest_ind(a, b, equal_var=False).pvalue)


def test_an_interval_has_only_possible_scores_and_is_unknown_without_spread() -> None:
    found = mean_interval(np.array([0.9, 1.0, 1.0]), bounded=True)
    assert found is not None and found[1] == 1.0
    assert mean_interval(np.array([0.1, 9.0, 0.1]), bounded=False)[0] == 0.0  # type: ignore[index]
    assert mean_interval(np.full(5, 0.5), bounded=True) is None
    assert mean_interval(np.array([2.0]), bounded=False) is None
    assert difference_p(np.full(5, 0.5), np.full(9, 0.5), bounded=True) == 1.0
