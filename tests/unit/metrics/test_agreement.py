"""Krippendorff's alpha against published, hand-computed and expected values."""

import numpy as np
import pytest

from finetune.metrics.agreement import Level, krippendorff_alpha

PUBLISHED = [  # four observers, twelve units (Krippendorff 2011, section C); a dot is a missing value
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_published_data_have_their_published_alpha(level: Level, alpha: float) -> None:
    units = [[int(value) for value in unit if value != "."] for unit in zip(*map(str.split, PUBLISHED), strict=True)]
    assert krippendorff_alpha(units, level) == pytest.approx(alpha, abs=5e-4)


def test_small_cases_by_hand() -> None:
    """Of 6 values 2 of 6 differ within their rows, and 18 of 30 ordered pairs in all: 1 - (2 / 6) / (18 / 30)."""
    assert krippendorff_alpha([["a", "a"], ["b", "b"], ["a", "b"]], "nominal") == pytest.approx(1 - 10 / 18)
    assert krippendorff_alpha([["a", "a"], ["b", "b"]], "nominal") == 1
    assert krippendorff_alpha([["a", "b"], ["b", "a"]], "nominal") == pytest.approx(-0.5)
    assert krippendorff_alpha([[1e9, 1e9 + 1], [1e9 + 1, 1e9]], "interval") == pytest.approx(-0.5)
    for units in ([], [["a"]], [["a", "a"], ["a", "a"]]):
        assert krippendorff_alpha(units, "nominal") is None


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2, 0.5])
def test_annotators_who_err_at_random_agree_as_expected(noise: float) -> None:
    """Of two balanced classes: they differ in 2 p (1 - p) of the rows, and by chance in half."""
    draw = np.random.default_rng(0)
    truth = draw.integers(0, 2, 20_000)
    given = truth ^ (draw.random((2, 20_000)) < noise)
    assert krippendorff_alpha(given.T.tolist(), "nominal") == pytest.approx(1 - 4 * noise * (1 - noise), abs=0.02)
