"""Thresholds with a guarantee: exact bounds, and simulations in which the promise must hold."""

import numpy as np
import pytest
from scipy import stats

from finetune.metrics import selective


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
    assert np.mean(held) >= 0.95
    assert np.mean(coverages) > 0.2  # of the half at which the risk is 0.1


def test_no_risk_is_promised_from_too_few_rows_nor_from_wrong_ones() -> None:
    right = np.ones(58, bool)
    assert selective.risk_threshold(np.linspace(0, 1, 58), right, 0.05) is None
    assert selective.risk_threshold(np.linspace(0, 1, 59), np.ones(59, bool), 0.05) is not None


def test_claims_of_one_row_count_as_fewer() -> None:
    wrong, rows = np.repeat([True, False, False, False] * 10, 5), np.repeat(np.arange(40), 5)
    assert selective.design_effect(wrong, rows) == pytest.approx(5)
    assert selective.design_effect(wrong, np.arange(200)) == pytest.approx(1)
    assert selective.design_effect(np.zeros(200, bool), rows) == 5  # 40 rows without a wrong claim, not 200
    confidence, right = np.linspace(0, 1, 100), np.ones(100, bool)
    assert selective.risk_threshold(confidence, right, 0.05) is not None
    assert selective.risk_threshold(confidence, right, 0.05, effect=2.0) is None


def test_a_coverage_is_reached_on_average() -> None:
    generator = np.random.default_rng(2)
    reached = []
    for _ in range(300):
        confidence, right = drawn(generator, 39)
        found = selective.coverage_threshold(confidence, right, 0.9)
        reached.append((drawn(generator, 200)[0] >= found.threshold).mean())
    assert np.mean(reached) == pytest.approx(0.9, abs=0.01)
    assert selective.coverage_threshold(confidence[:5], right[:5], 0.9).threshold == -np.inf


def test_all_answers_are_promised_where_the_confidence_says_nothing() -> None:
    """The likeliest wrong first: no threshold is better than none, and 5 % wrong of all are within 10 %."""
    generator = np.random.default_rng(5)
    promised = []
    for _ in range(100):
        confidence = generator.uniform(size=400)
        right = generator.uniform(size=400) >= np.where(confidence > 0.9, 0.2, 0.033)
        found = selective.risk_threshold(confidence, right, 0.1)
        promised.append(found is not None and found.coverage == 1)
    assert np.mean(promised) >= 0.9
