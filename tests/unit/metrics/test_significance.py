"""Significance: the paired bootstrap, McNemar and Holm against libraries."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as theirs_mcnemar
from statsmodels.stats.multitest import multipletests

from finetune.metrics.metric import Counted
from finetune.metrics.significance import Rescored, holm, mcnemar, paired_bootstrap, score_interval
from finetune.metrics.sums import mean_counted, part_counted

RANDOM = np.random.default_rng(7)


def hits(count: int, share: float) -> np.ndarray:
    return RANDOM.random(count) < share


def test_the_interval_is_scipys() -> None:
    a, b = hits(400, 0.7), hits(400, 0.78)
    ours = paired_bootstrap([mean_counted(a)], [mean_counted(b)])

    def difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return y.mean(axis) - x.mean(axis)

    theirs = stats.bootstrap(
        (a.astype(float), b.astype(float)),
        difference,
        paired=True,
        vectorized=True,
        method="percentile",
        random_state=0,
    )
    assert ours.value == pytest.approx(b.mean() - a.mean())
    assert ours.interval == pytest.approx(tuple(theirs.confidence_interval), abs=0.006)
    z = stats.ttest_rel(b.astype(float), a.astype(float))  # for means of 400 rows the two agree
    assert ours.p == pytest.approx(z.pvalue, abs=0.01)


def test_how_many_rows_would_tell_a_difference() -> None:
    a, b = hits(500, 0.70), hits(500, 0.74)
    ours = paired_bootstrap([mean_counted(a)], [mean_counted(b)])
    spread = np.std(b.astype(float) - a, ddof=1)
    expected = ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * spread / ours.value) ** 2
    assert ours.rows_needed == pytest.approx(expected, rel=0.05)
    assert paired_bootstrap([mean_counted(a)], [mean_counted(a)]).rows_needed is None
    assert paired_bootstrap([mean_counted(a)], [mean_counted(a)]).p == 1.0
    none = np.zeros(200, bool)
    assert paired_bootstrap([mean_counted(none)], [mean_counted(np.arange(200) > 2)]).rows_needed == 6  # p is 0.03
    assert paired_bootstrap([mean_counted(none)], [mean_counted(~none)]).rows_needed == 6


def test_mcnemar_is_statsmodels() -> None:
    a, b = hits(200, 0.7), hits(200, 0.8)
    table = [[sum(a & b), sum(a & ~b)], [sum(~a & b), sum(~a & ~b)]]
    assert mcnemar(a, b) == pytest.approx(theirs_mcnemar(table, exact=True).pvalue)
    assert mcnemar(a, a) == 1.0


def rejections(draw: Callable[[], tuple[list[Counted], list[Counted]]], trials: int) -> float:
    return sum(paired_bootstrap(*draw(), resamples=400, seed=i).p < 0.05 for i in range(trials)) / trials


def test_equal_models_are_told_apart_in_five_per_cent_of_cases() -> None:
    def one_seed() -> tuple[list[Counted], list[Counted]]:
        return [mean_counted(hits(300, 0.8))], [mean_counted(hits(300, 0.8))]

    assert 0.02 <= rejections(one_seed, 500) <= 0.085


def test_seeds_count_towards_chance() -> None:
    """Two methods alike, whose seeds differ by more than their rows: with the rows alone most would seem different."""

    def several() -> tuple[list[Counted], list[Counted]]:
        sides = [[mean_counted(hits(1_000, share)) for share in RANDOM.normal(0.8, 0.03, 5)] for _ in range(2)]
        return sides[0], sides[1]

    assert rejections(several, 120) <= 0.16

    def first_only() -> tuple[list[Counted], list[Counted]]:
        a, b = several()
        return a[:1], b[:1]

    assert rejections(first_only, 60) > 0.3


def fixed(rows: int, right: float) -> Counted:
    return mean_counted(np.arange(rows) < right * rows)


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_the_other_order_has_the_figures_of_the_other_sign(share: float) -> None:
    a, b = ([mean_counted(hits(8, of)) for of in pair] for pair in ((0.5, 0.9), (share, 0.6)))
    there, back = paired_bootstrap(a, b), paired_bootstrap(b, a)
    assert there.interval is not None
    assert back.interval is not None
    assert back.interval == pytest.approx((-there.interval[1], -there.interval[0]))
    assert (back.p, back.rows_needed) == (there.p, there.rows_needed)


def test_where_seeds_alone_differ_the_test_is_welchs() -> None:
    """With so many rows that these are no chance; two seeds a side, for which a bootstrap of them would be too sure."""
    scores = [0.80, 0.83], [0.86, 0.90]
    ours = paired_bootstrap(*([fixed(20_000, score) for score in side] for side in scores), resamples=500)
    theirs = stats.ttest_ind(scores[1], scores[0], equal_var=False)
    assert ours.p == pytest.approx(theirs.pvalue, abs=0.03)
    assert ours.rows_needed is None  # no number of rows would tell it


def test_so_few_rows_show_nothing() -> None:
    """A sign test of three rows in one direction has p 0.25, of one row 1."""
    for rows, p in ((3, 0.25), (1, 1.0)):
        ours = paired_bootstrap([mean_counted(np.zeros(rows))], [mean_counted(np.ones(rows))])
        assert ours.p == p


@pytest.mark.slow
def test_holms_p_is_that_of_statsmodels() -> None:
    for values in ([0.04, 0.01, 0.03, 0.5], [0.01, 0.01], [0.9, 0.6, 0.8], [0.2]):
        assert holm(values) == pytest.approx(multipletests(values, method="holm")[1])


def test_without_any_spread_there_is_no_interval() -> None:
    """Two models that are right on the same rows, one seed a side: other rows may tell them apart."""
    same = [mean_counted([1, 0, 1, 1] * 20)]
    for other in (same, [mean_counted(np.zeros(80))]):
        assert (paired_bootstrap(same, other, resamples=200).interval is None) == (other is same)
    assert paired_bootstrap(same, same, resamples=200).p == 1
    assert paired_bootstrap([fixed(30, 1)], [fixed(30, 0)], resamples=200).interval is None
    nothing = Rescored(metric=lambda chosen: float("nan"), size=30)
    undefined = paired_bootstrap([nothing], [fixed(30, 1)], resamples=20)
    assert (undefined.interval, undefined.p, undefined.rows_needed) == (None, 1.0, None)


def test_the_interval_of_one_score_is_the_binomial_one() -> None:
    right = np.arange(400) < 300
    spread = 1.96 * np.sqrt(0.75 * 0.25 / 400)
    assert score_interval(mean_counted(right)) == pytest.approx((0.75 - spread, 0.75 + spread), abs=0.005)


def test_one_score_of_equal_rows_has_no_interval() -> None:
    assert score_interval(mean_counted(np.ones(50))) is None


@pytest.mark.parametrize("rows", [10, 30])
def test_the_interval_of_few_rows_is_as_wide_as_students(rows: int) -> None:
    scores = RANDOM.normal(0.5, 0.1, rows)
    low, high = score_interval(mean_counted(scores)) or (0.0, 0.0)
    students = stats.ttest_1samp(scores, 0).confidence_interval()
    assert high - low == pytest.approx(students.high - students.low, rel=0.05)


def test_f1_of_few_rows_is_rarely_called_different() -> None:
    """Of equal models; with the interval of the percentiles alone 8 %."""
    random = np.random.default_rng(5)

    def draw() -> Counted:
        there = np.arange(30) % 2 == 0
        right = random.random(30) < 0.8
        given = np.where(there, right, ~right)
        return part_counted("f1", there & given, given, there)

    found = [paired_bootstrap([draw()], [draw()], resamples=500).interval for _ in range(800)]
    assert sum(one is not None and (one[0] > 0 or one[1] < 0) for one in found) / 800 <= 0.07
