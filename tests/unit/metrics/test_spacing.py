"""Scores that differ by orders of magnitude are tested as logarithms, so that p, interval and rows needed agree."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from finetune.metrics.metric import DIFFERENCES, RATIOS, Metric
from finetune.metrics.scores import accuracy
from finetune.metrics.significance import Difference, paired_bootstrap
from finetune.metrics.words import perplexity, probability

DOCUMENTS, WORDS = 100, 20
HARD = np.random.default_rng(3).normal(20, 10, DOCUMENTS)  # nats of a word: perplexities of 5e8


def compared(metric: Metric, *, better: float, spread: float = 1.0, seeds: int = 1) -> Difference:
    """Of two models whose words differ by so many nats, in documents that differ much."""
    random = np.random.default_rng(11)

    def model(nats: float) -> list[dict[str, list[float]]]:
        means = np.clip(HARD - nats + random.normal(0, spread, DOCUMENTS), 0, None)
        return [{"nats": [mean] * WORDS} for mean in means]

    assert metric.sums is not None
    sides = [[metric.sums([], model(nats)) for _ in range(seeds)] for nats in (0.0, better)]
    return paired_bootstrap(*sides, resamples=2_000, spacing=metric.spacing)


@pytest.mark.parametrize("better", [-0.5, -0.2, 0.0, 0.2, 0.5, 1.0])
def test_p_agrees_with_the_interval_where_perplexities_are_huge(better: float) -> None:
    of_perplexity, of_probability = (compared(metric, better=better) for metric in (perplexity, probability))
    assert of_perplexity.p == pytest.approx(of_probability.p)
    assert of_perplexity.rows_needed == of_probability.rows_needed
    for found in (of_perplexity, of_probability):
        assert found.interval is not None
        low, high = found.interval
        assert low <= found.value <= high
        assert (low > 0 or high < 0) == (found.p < 0.05)


def test_p_is_that_of_a_test_of_nats() -> None:
    nats = np.random.default_rng(5).normal(0.1, 0.6, 400)
    assert perplexity.sums is not None
    a, b = (perplexity.sums([], [{"nats": [20 + each]} for each in side]) for side in (0 * nats, nats))
    found = paired_bootstrap([a], [b], spacing=RATIOS)
    assert found.p == pytest.approx(stats.ttest_1samp(nats, 0).pvalue, abs=0.01)
    assert found.value == pytest.approx(math.exp(20 + nats.mean()) - math.exp(20))


def test_seeds_of_perplexities_are_averaged_geometrically() -> None:
    found = compared(perplexity, better=2.0, seeds=3)
    assert found.interval is not None
    assert found.interval[1] < 0 and found.p < 0.05
    assert RATIOS.mean([10.0, 1_000.0]) == pytest.approx(100)
    assert DIFFERENCES.mean([0.5, 1.0]) == 0.75


@pytest.mark.parametrize("of", [lambda a, b: (a, b), lambda a, b: (b, a)])
def test_a_difference_of_ratios_is_that_of_the_scores(of: Callable[[float, float], tuple[float, float]]) -> None:
    a, b = of(20.0, 3e9)
    step = math.log(b / a)
    assert RATIOS.difference(step, a, b) == pytest.approx(b - a)
    assert RATIOS.step(b - a, a, b) == pytest.approx(step)
    assert RATIOS.difference(step, a, b) == pytest.approx(-RATIOS.difference(-step, b, a))
    assert (RATIOS.difference(0.0, a, b), RATIOS.difference(2_000.0, a, b)) == (0.0, 1e15)


def test_a_metric_has_its_spacing() -> None:
    assert [metric.spacing for metric in (perplexity, probability, accuracy)] == [RATIOS, RATIOS, DIFFERENCES]
    assert math.isnan(RATIOS.mean([math.nan, 2.0]))
    assert RATIOS.mean([0.0, 1.0]) >= 0
