"""Thresholds with a guarantee: exact bounds, and simulations in which the promise must hold."""

import numpy as np
import pytest
from scipy import stats

from finetune.metrics import confidence as selective


def drawn(generator: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and whether predictions are right, which becomes likelier with the confidence."""
    confidence = generator.uniform(0.5, 1, rows)
    return confidence, generator.uniform(size=rows) < 0.6 + 0.8 * (confidence - 0.5)


@pytest.mark.parametrize(("risk", "wrong", "least"), [(0.05, 0, 59), (0.05, 1, 93), (0.01, 0, 299), (0.2, 2, 30)])
def test_the_fewest_answers_are_those_of_clopper_and_pearson(risk: float, wrong: int, least: int) -> None:
    assert selective.least_answers(risk, wrong=wrong) == least
    interval = stats.binomtest(wrong, least, alternative="less").proportion_ci(confidence_level=0.95, method="exact")
    one_fewer = stats.binomtest(wrong, least - 1, alternative="less").proportion_ci(0.95, method="exact")
    assert interval.high <= risk < one_fewer.high


def test_a_promised_risk_holds_in_95_of_100_draws() -> None:
    generator = np.random.default_rng(1)
    others = drawn(generator, 100_000)
    held = list[bool]()
    coverages = list[float]()
    for _ in range(200):
        found = selective.risk_threshold(*drawn(generator, 500), 0.1)
        kept = others[0] >= (np.inf if found is None else found.threshold)
        held.append(not kept.any() or (~others[1][kept]).mean() <= 0.1)
        coverages.append(kept.mean())
    assert np.mean(held) >= 0.95  # nothing is answered where nothing is promised
    assert np.mean(coverages) > 0.2  # of the half at which the risk is 0.1


def test_a_model_that_is_good_enough_answers_all_rows_whatever_its_confidence() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        right = generator.uniform(size=1_000) < 0.95
        confidence = generator.uniform(size=1_000) - right  # the wrong ones have the highest
        assert selective.risk_threshold(confidence, right, 0.1).coverage == 1


def test_no_risk_is_promised_from_too_few_rows_nor_from_wrong_ones() -> None:
    right = np.ones(58, bool)
    assert selective.risk_threshold(np.linspace(0, 1, 58), right, 0.05) is None
    assert selective.risk_threshold(np.linspace(0, 1, 59), np.ones(59, bool), 0.05) is not None
    assert selective.lowest_risk(np.linspace(0, 1, 58), right) == 0.06


def test_equal_confidences_are_answered_together() -> None:
    confidence, right = np.repeat([0.9, 0.5], 100), np.repeat([True, False], 100)
    found = selective.risk_threshold(confidence, right, 0.05)
    assert found == selective.AnsweredShare(threshold=0.9, coverage=0.5, wrong=0.0)
    assert selective.coverage_threshold(confidence, right, 0.6).coverage == 1.0


def test_a_coverage_is_reached_on_average() -> None:
    generator = np.random.default_rng(2)
    reached = []
    for _ in range(300):
        confidence, right = drawn(generator, 39)
        found = selective.coverage_threshold(confidence, right, 0.9)
        reached.append((drawn(generator, 200)[0] >= found.threshold).mean())
    assert np.mean(reached) == pytest.approx(0.9, abs=0.01)
    assert selective.coverage_threshold(confidence[:5], right[:5], 0.9).threshold == -np.inf
