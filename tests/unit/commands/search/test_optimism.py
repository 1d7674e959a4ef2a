"""The optimism of the best of several settings, against simulations where the truth is known."""

import numpy as np
import pytest

from finetune.commands.search import study
from finetune.commands.search.study import optimism_of_best


@pytest.mark.parametrize("spread", [0.0, 3.0], ids=["equal settings", "settings that differ as much as seeds"])
def test_it_is_near_the_true_excess_of_the_best(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "DRAWS", 300)
    random = np.random.default_rng(1)
    estimated, true = [], []
    for _ in range(1000):
        means = spread * random.normal(size=20)
        scores = means[:, None] + 3 * random.normal(size=(20, 4))
        best = scores.mean(axis=1).argmax()
        true.append(scores[best].mean() - means[best])
        estimated.append(optimism_of_best(scores.tolist()))
    assert np.mean(estimated) == pytest.approx(np.mean(true), rel=0.15)


def test_it_is_zero_for_seeds_that_agree_and_unknown_with_one_seed() -> None:
    assert optimism_of_best([[0.5, 0.5], [0.7, 0.7]]) == 0
    assert optimism_of_best([[0.5], [0.7]]) is None
    assert optimism_of_best([[0.5, 0.6]]) is None


def test_settings_that_fail_by_far_do_not_hide_it() -> None:
    scores = [[0.80, 0.84], [0.81, 0.85], [0.84, 0.80], [0.82, 0.83]]
    alone = optimism_of_best(scores)
    failing = optimism_of_best([*scores, [0.3, 0.34], [0.3, 0.33]])
    assert alone is not None and failing is not None
    assert failing > 0.5 * alone
