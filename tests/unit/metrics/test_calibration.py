"""Calibration: the expected error, and the temperature of a softmax."""

import numpy as np
import pytest
from scipy.special import softmax

from finetune.metrics.calibration import (
    expected_error,
    fit_temperature,
    highest_with_temperature,
    reliability,
    with_temperature,
)

RANDOM = np.random.default_rng(3)


def test_ece_is_that_of_a_hand() -> None:
    confidence = np.array([0.95, 0.92, 0.65, 0.7, 0.25, 1.0])
    right = np.array([1, 0, 1, 1, 0, 1])
    bins = reliability(confidence, right)
    assert [(round(b.low, 1), b.count) for b in bins] == [(0.2, 1), (0.6, 2), (0.9, 3)]  # 0.7 ends the bin before it
    by_hand = (1 * abs(0 - 0.25) + 2 * abs(1 - 0.675) + 3 * abs(2 / 3 - 2.87 / 3)) / 6
    assert expected_error(bins) == pytest.approx(by_hand)
    assert expected_error(reliability(np.array([0.0, 1.0]), np.array([0, 1]))) == 0
    assert expected_error([]) == 0


def test_the_temperature_of_a_softmax_is_found() -> None:
    logits = RANDOM.normal(0, 2, (20_000, 4))
    gold = [int(RANDOM.choice(4, p=row)) for row in softmax(logits, axis=1)]
    for temperature in (0.5, 1.0, 3.0):
        too_sure = softmax(logits * temperature, axis=1)
        assert fit_temperature(too_sure.tolist(), gold) == pytest.approx(temperature, rel=0.05)
        assert with_temperature(too_sure[0], temperature) == pytest.approx(softmax(logits[0]).tolist(), abs=1e-6)


def test_a_temperature_stands_rows_of_different_lengths_and_zeros() -> None:
    given = [[0.5, 0.5], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0, 0.0]]
    assert 0.05 <= fit_temperature(given, [0, 2, 0]) <= 20
    assert fit_temperature([[0.6, 0.4]] * 3, [0, 0, 0]) == pytest.approx(0.05, rel=0.01)  # all right: the lowest
    assert with_temperature([1.0, 0.0], 2.0) == pytest.approx([1.0, 0.0])
    highest = [max(with_temperature(row, 1.7)) for row in given]
    assert highest_with_temperature(given, 1.7) == pytest.approx(highest)
