"""The interval of a mean against scipy."""

import numpy as np
import pytest
from scipy import stats

from finetune.metrics.mean_interval import mean_interval


def test_the_interval_is_scipys() -> None:
    values = np.random.default_rng(3).random(50)
    mean, half = mean_interval(values)
    expected = stats.norm.interval(0.95, loc=values.mean(), scale=stats.sem(values))
    assert (mean - half, mean + half) == pytest.approx(expected, rel=1e-6)


def test_one_value_has_no_width() -> None:
    assert mean_interval(np.array([0.5])) == (0.5, 0.0)
