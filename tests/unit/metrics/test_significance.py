"""Significance: the paired bootstrap, McNemar, Holm and Wilson against libraries, and simulations of their promises."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as theirs_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from finetune.metrics.metric import Counted
from finetune.metrics.significance import Rescored, holm, mcnemar, paired_bootstrap, score_interval, wilson
from finetune.metrics.sums import mean_counted
from finetune.metrics.words import perplexity, probability

RANDOM = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Each test draws the same numbers, whichever ran before it."""
    RANDOM.bit_generator.state = np.random.default_rng(7).bit_generator.state


def hits(count: int, share: float) -> np.ndarray:
    return RANDOM.random(count) < share


def fixed(rows: int, right: float) -> Counted:
    return mean_counted(np.arange(rows) < right * rows)


def test_the_interval_is_scipys() -> None:
    a, b = (hits(400, share).astype(float) for share in (0.7, 0.78))
    ours = paired_bootstrap([mean_counted(a)], [mean_counted(b)])
    theirs = stats.bootstrap(
        (a, b), lambda x, y, axis: y.mean(axis) - x.mean(axis), paired=True, vectorized=True, method="percentile",
        random_state=0,
    )  # fmt: skip
    assert ours.value == pytest.approx(b.mean() - a.mean())
    assert ours.interval == pytest.approx(tuple(theirs.confidence_interval), abs=0.006)
    assert ours.p == pytest.approx(stats.ttest_rel(b, a).pvalue, abs=0.01)  # for means of 400 rows the two agree


def test_how_many_rows_would_tell_a_difference() -> None:
    a, b = hits(500, 0.70), hits(500, 0.74)
    ours = paired_bootstrap([mean_counted(a)], [mean_counted(b)])
    spread = np.std(b.astype(float) - a, ddof=1)
    expected = ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * spread / ours.value) ** 2
    assert ours.rows_needed == pytest.approx(expected, rel=0.05)
    same = paired_bootstrap([mean_counted(a)], [mean_counted(a)])
    assert (same.rows_needed, same.p, same.interval) == (None, 1.0, None)
    none = np.zeros(200, bool)
    for other in (np.arange(200) > 2, ~none):
        assert paired_bootstrap([mean_counted(none)], [mean_counted(other)]).rows_needed == 6  # p is 0.03


def test_mcnemar_holm_and_wilson_are_statsmodels() -> None:
    a, b = hits(200, 0.7), hits(200, 0.8)
    table = [[sum(a & b), sum(a & ~b)], [sum(~a & b), sum(~a & ~b)]]
    assert mcnemar(a, b) == pytest.approx(theirs_mcnemar(table, exact=True).pvalue)
    assert mcnemar(a, a) == 1.0
    for values in ([0.04, 0.01, 0.03, 0.5], [0.01, 0.01], [0.9, 0.6, 0.8], [0.2]):
        assert holm(values) == pytest.approx(multipletests(values, method="holm")[1])
    for right, of in ((0, 7), (3, 10), (80, 80)):
        assert wilson(right, of=of) == pytest.approx(proportion_confint(right, of, method="wilson"))


def rejections(draw: Callable[[], tuple[list[Counted], list[Counted]]], trials: int) -> float:
    return sum(paired_bootstrap(*draw(), resamples=400, seed=i).p < 0.05 for i in range(trials)) / trials


@pytest.mark.slow
def test_equal_models_are_told_apart_in_five_per_cent_of_cases() -> None:
    def one_seed() -> tuple[list[Counted], list[Counted]]:
        return [mean_counted(hits(300, 0.8))], [mean_counted(hits(300, 0.8))]

    assert 0.02 <= rejections(one_seed, 500) <= 0.085


@pytest.mark.slow
def test_seeds_count_towards_chance() -> None:
    """Two methods alike, whose seeds differ by more than their rows: with the rows alone most would seem different."""

    def several() -> tuple[list[Counted], list[Counted]]:
        sides = [[mean_counted(hits(1_000, share)) for share in RANDOM.normal(0.8, 0.03, 5)] for _ in range(2)]
        return sides[0], sides[1]

    assert rejections(several, 120) <= 0.16
    assert rejections(lambda: tuple(side[:1] for side in several()), 60) > 0.3


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_the_other_order_has_the_figures_of_the_other_sign(share: float) -> None:
    a, b = ([mean_counted(hits(8, of)) for of in pair] for pair in ((0.5, 0.9), (share, 0.6)))
    there, back = paired_bootstrap(a, b), paired_bootstrap(b, a)
    low, high = there.interval
    assert back.interval == pytest.approx((-high, -low))
    assert (back.p, back.rows_needed) == (there.p, there.rows_needed)


def test_where_seeds_alone_differ_the_test_is_welchs() -> None:
    """With so many rows that these are no chance; two seeds a side, for which a bootstrap of them would be too sure."""
    scores = [0.80, 0.83], [0.86, 0.90]
    ours = paired_bootstrap(*([fixed(20_000, score) for score in side] for side in scores), resamples=500)
    theirs = stats.ttest_ind(scores[1], scores[0], equal_var=False)
    assert ours.p == pytest.approx(theirs.pvalue, abs=0.03)
    assert ours.rows_needed is None  # no number of rows would tell it


def test_few_rows_and_rows_without_spread_show_nothing() -> None:
    for rows, p in ((3, 0.25), (1, 1.0)):  # of a sign test in one direction
        assert paired_bootstrap([mean_counted(np.zeros(rows))], [mean_counted(np.ones(rows))]).p == p
    assert paired_bootstrap([fixed(30, 1)], [fixed(30, 0)], resamples=200).interval is None
    nothing = Rescored(metric=lambda chosen: float("nan"), size=30)
    undefined = paired_bootstrap([nothing], [fixed(30, 1)], resamples=20)
    assert (undefined.interval, undefined.p, undefined.rows_needed) == (None, 1.0, None)


def test_the_interval_of_one_score_is_the_binomial_one_and_of_few_rows_as_wide_as_students() -> None:
    spread = 1.96 * np.sqrt(0.75 * 0.25 / 400)
    assert score_interval(fixed(400, 0.75)) == pytest.approx((0.75 - spread, 0.75 + spread), abs=0.005)
    assert score_interval(mean_counted(np.ones(50))) is None
    for rows in (10, 30):
        scores = RANDOM.normal(0.5, 0.1, rows)
        low, high = score_interval(mean_counted(scores))
        students = stats.ttest_1samp(scores, 0).confidence_interval()
        assert high - low == pytest.approx(students.high - students.low, rel=0.05)


@pytest.mark.parametrize("apart", [0.1, 0.0, -0.2])
def test_p_of_perplexities_is_that_of_a_test_of_nats_and_agrees_with_the_interval(apart: float) -> None:
    nats = np.random.default_rng(5).normal(apart, 0.6, 400)
    of_perplexity, of_probability = (
        paired_bootstrap(
            *([metric.sums([], [{"nats": [20 + each]} for each in side])] for side in (0 * nats, nats)),
            spacing=metric.spacing,
        )
        for metric in (perplexity, probability)
    )
    assert of_perplexity.p == pytest.approx(stats.ttest_1samp(nats, 0).pvalue, abs=0.01)
    assert of_perplexity.value == pytest.approx(math.exp(20 + nats.mean()) - math.exp(20))
    assert (of_probability.p, of_probability.rows_needed) == (pytest.approx(of_perplexity.p), of_perplexity.rows_needed)
    for found in (of_perplexity, of_probability):
        low, high = found.interval
        assert low <= found.value <= high
        assert (low > 0 or high < 0) == (found.p < 0.05)
