"""The energy test: p holds where nothing has changed, and is small where something has."""

import numpy as np
import pytest

from finetune.metrics.two_sample import energy_test, whitened


def test_alarms_are_as_rare_as_promised() -> None:
    drawn = np.random.default_rng(0)
    found = [
        energy_test(drawn.exponential(size=(30, 2)), drawn.exponential(size=(20, 2)), permutations=99, seed=seed).p
        for seed in range(300)
    ]
    assert 0.02 < np.mean(np.array(found) <= 0.05) < 0.09


@pytest.mark.parametrize(
    "new", [lambda drawn: drawn.normal(1, 1, (60, 3)), lambda drawn: drawn.normal(0, 3, (60, 3))], ids=["mean", "sd"]
)
def test_another_mean_and_another_spread_are_found(new: "object") -> None:
    drawn = np.random.default_rng(0)
    assert energy_test(drawn.normal(0, 1, (80, 3)), new(drawn)).p == 0.001  # type: ignore[operator]


def test_a_change_in_a_narrow_direction_of_wide_rows_is_found() -> None:
    drawn = np.random.default_rng(0)
    mixing = drawn.normal(size=(20, 80)) * np.linspace(3, 0.2, 20)[:, None]
    old, new = drawn.normal(size=(300, 20)), drawn.normal(size=(200, 20))
    new[:, -1] += 1
    assert energy_test(old @ mixing, new @ mixing).p < 0.01
    assert energy_test(old[:150] @ mixing, old[150:] @ mixing).p > 0.05


def test_rows_that_do_not_vary_are_alike() -> None:
    same = np.ones((9, 2))
    assert energy_test(same, same).p == 1
    assert whitened(same).shape == (9, 0)
    assert energy_test(same[:1], same[:1] + 1).p == 1  # a row each: both orders are as far apart
