"""Which measures differ, what they are compared to, and how far rows are."""

import numpy as np

from finetune.inference.shift.alike import compared_to, distances, shift_tests
from finetune.inference.shift.reference import Reference


def normal(seed: int, rows: int = 80, mean: float = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, 1, (rows, 2)).astype(np.float32)


def test_p_values_are_corrected_and_constants_left_out() -> None:
    ones = np.ones((80, 1), np.float32)
    old = {"length": normal(0), "writing": normal(1), "vocabulary": ones}
    new = {"length": normal(2, mean=2), "writing": normal(3), "vocabulary": ones, "columns": normal(4)}
    found = {one.name: one for one in shift_tests(old, new)}
    assert list(found) == ["length", "writing"]
    assert found["length"].corrected == 2 * found["length"].p == 0.002
    assert found["writing"].corrected > 0.05


def test_texts_are_compared_to_training_rows_where_dev_looks_like_them() -> None:
    dev = {"length": normal(0), "predictions": normal(5)}
    same = Reference(dev=dev, train={"length": normal(1)}, labels=())
    assert compared_to(same)["length"] is same.train["length"]
    assert compared_to(same)["predictions"] is dev["predictions"]
    other = Reference(dev=dev, train={"length": normal(1, mean=2)}, labels=())
    assert compared_to(other)["length"] is dev["length"]
    assert compared_to(Reference(dev=dev, train={}, labels=())) == dev


def test_the_farthest_row_is_the_one_that_is_unlike_the_others() -> None:
    new = normal(1, rows=10)
    new[3] += 20
    far = distances(normal(0), new)
    assert far.argmax() == 3
    assert 0.5 < np.median(far) < 2 < far[3]
    assert np.isfinite(distances(normal(0, rows=1), new)).all()
