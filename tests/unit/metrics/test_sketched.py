"""Differences from records alone: as the bootstrap of predictions has them, and as often wrong as they say."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from finetune.metrics import significance
from finetune.metrics.significance import (
    SKETCH_STEPS,
    SKETCHED,
    SketchedScores,
    Z,
    holm,
    paired_bootstrap,
    score_interval,
    sketch,
    sketched_difference,
)
from finetune.metrics.sums import Counted, mean_counted

ROWS = 300


def runs(share: float, seeds: int, *, generator: np.random.Generator, hard: np.ndarray) -> list[Counted]:
    """Runs that have about this share of the rows right, the hard ones least."""
    return [mean_counted((generator.random(ROWS) < share - 0.3 * hard).astype(float)) for _ in range(seeds)]


def kept(some: Sequence[Counted]) -> SketchedScores:
    """What records keep of runs."""
    return SketchedScores(
        scores=[one.score for one in some],
        intervals=[score_interval(one, resamples=2_000) for one in some],
        sketches=[sketch(one) for one in some],
    )


@pytest.mark.parametrize(("second", "seeds"), [(0.9, 1), (0.9, 3), (0.82, 3), (0.8, 4)])
def test_it_is_near_the_bootstrap_of_predictions(second: float, seeds: int) -> None:
    generator = np.random.default_rng(3)
    hard = generator.random(ROWS) < 0.3
    a, b = (runs(share, seeds, generator=generator, hard=hard) for share in (0.8, second))
    exact, found = paired_bootstrap(a, b, resamples=4_000), sketched_difference(kept(a), kept(b))
    assert found is not None and found.interval is not None and exact.interval is not None
    assert (found.a, found.b) == (exact.a, exact.b)
    width = exact.interval[1] - exact.interval[0]
    assert found.interval == pytest.approx(exact.interval, abs=0.15 * width)
    assert found.p == pytest.approx(exact.p, abs=0.03)
    assert (found.p < 0.05) == (found.interval[0] > 0 or found.interval[1] < 0)


def test_what_it_cannot_know_makes_it_wider_or_is_said() -> None:
    generator = np.random.default_rng(5)
    hard = generator.random(ROWS) < 0.3
    a, b = (kept(runs(share, 3, generator=generator, hard=hard)) for share in (0.8, 0.85))
    without = [SketchedScores(scores=s.scores, intervals=s.intervals, sketches=[""] * 3) for s in (a, b)]
    unknown = [SketchedScores(scores=s.scores, intervals=[None] * 3, sketches=[""] * 3) for s in (a, b)]
    ends = [found.interval for sides in ((a, b), without) if (found := sketched_difference(*sides)) and found.interval]
    assert ends[1][1] - ends[1][0] > ends[0][1] - ends[0][0]
    seeds_alone = sketched_difference(unknown[0], unknown[1])
    assert seeds_alone is not None and seeds_alone.rows_needed is None
    single = SketchedScores(scores=[0.9], intervals=[None], sketches=[""])
    assert sketched_difference(single, unknown[1]) is None
    undefined = SketchedScores(scores=[float("nan")], intervals=[(0.1, 0.2)], sketches=[""])
    assert sketched_difference(a, undefined) is None


def test_the_same_predictions_do_not_differ() -> None:
    generator = np.random.default_rng(7)
    (one,) = runs(0.8, 1, generator=generator, hard=np.zeros(ROWS))
    found = sketched_difference(kept([one]), kept([one]))
    assert found is not None
    assert (found.p, found.interval, found.rows_needed) == (1.0, None, None)


@pytest.mark.parametrize("settings", [2, 6])
def test_equal_settings_are_called_different_in_one_of_twenty_boards(
    settings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best is chosen by the scores that are tested, so all pairs count: with those of the best alone, Holm's
    correction is wrong more often.
    """
    monkeypatch.setattr(significance, "HALVINGS", 0)  # the ends of intervals take most of the time
    generator = np.random.default_rng(11)
    boards, wrong = 300, 0
    for _ in range(boards):
        shared = generator.normal(size=SKETCHED + 1)  # the chance of rows, of resamples and of the rows there are
        sides = []
        for _ in range(settings):
            noise = 0.8 * shared[:, None] + 0.6 * generator.normal(size=(SKETCHED + 1, 3))
            scores = 0.8 + 0.02 * noise[-1] + 0.01 * generator.normal(size=3)
            steps = np.clip(np.round(noise[:-1] * SKETCH_STEPS), -127, 127).astype(np.int8)
            ends = [(score - 0.02 * Z, score + 0.02 * Z) for score in scores]
            hexes = [steps[:, seed].tobytes().hex() for seed in range(3)]
            sides.append(SketchedScores(scores=scores.tolist(), intervals=ends, sketches=hexes))
        found = [sketched_difference(a, b) for a, b in combinations(sides, 2)]
        wrong += min(holm([one.p for one in found if one is not None])) < 0.05
    assert wrong / boards < 0.08
