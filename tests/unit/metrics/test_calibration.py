"""Calibration: the expected error."""

import numpy as np
import pytest

from finetune.metrics.confidence import expected_error, reliability


def test_ece_is_that_of_a_hand() -> None:
    confidence = np.array([0.95, 0.92, 0.65, 0.7, 0.25, 1.0])
    right = np.array([1, 0, 1, 1, 0, 1])
    bins = reliability(confidence, right)
    assert [(round(b.low, 1), b.count) for b in bins] == [(0.2, 1), (0.6, 2), (0.9, 3)]  # 0.7 ends the bin before it
    by_hand = (1 * abs(0 - 0.25) + 2 * abs(1 - 0.675) + 3 * abs(2 / 3 - 2.87 / 3)) / 6
    assert expected_error(bins) == pytest.approx(by_hand)
    assert expected_error(reliability(np.array([0.0, 1.0]), np.array([0, 1]))) == 0
    assert expected_error([]) == 0
