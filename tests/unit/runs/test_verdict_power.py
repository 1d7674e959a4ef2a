"""Verdicts over seeds, simulated: rarely false, surer with more seeds, and the same wherever they are told."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri
from support.records import run

from finetune.analysis.run_tables import summary_table
from finetune.api.run import Run
from finetune.metrics.significance import (
    SKETCH_STEPS,
    SKETCHED,
    half_over_seeds,
    paired_bootstrap,
    score_interval,
    sketch,
)
from finetune.metrics.sums import mean_counted
from finetune.runs.record import Margin, RunRecord
from finetune.runs.verdict import verdict_of

BASELINE = 0.7  # its accuracy
TRIALS = 500


@cache
def resamples(rows: int) -> np.ndarray:
    """Shares of the rows `(500, rows)`."""
    return np.random.default_rng(0).multinomial(rows, np.full(rows, 1 / rows), 500) / rows


def draw(
    random: np.random.Generator, *, gain: float, rows: int, seeds: int, spread: float, shared: float
) -> tuple[np.ndarray, np.ndarray]:
    """Which rows the model `(rows, seeds)` and the baseline `(rows, 1)` have right; `shared` correlates the seeds."""
    row = random.standard_normal((rows, 1))
    places = ndtri(np.clip(BASELINE + gain + random.normal(0, spread, seeds), 0.01, 0.99))
    right = shared**0.5 * row + (1 - shared) ** 0.5 * random.standard_normal((rows, seeds)) < places
    base = 0.5**0.5 * row + 0.5**0.5 * random.standard_normal((rows, 1)) < ndtri(BASELINE)
    return right, base


def verdicts(seeds: int, *, gain: float, rows: int, spread: float, shared: float) -> tuple[float, float]:
    """The shares of simulated runs that are found better and worse, by the numbers that a verdict has."""
    random = np.random.default_rng([seeds, rows, round(1000 * spread), round(1000 * gain)])
    better = worse = 0
    for _ in range(TRIALS):
        right, base = draw(random, gain=gain, rows=rows, seeds=seeds, spread=spread, shared=shared)
        apart = right - base.astype(float)
        drawn = resamples(rows) @ apart
        steps = (drawn[:SKETCHED] - drawn[:SKETCHED].mean(0)) / drawn[:SKETCHED].std(0) * SKETCH_STEPS
        sketches = [column.tobytes().hex() for column in np.clip(steps, -127, 127).astype(np.int8).T.copy()]
        half = half_over_seeds(apart.mean(0).tolist(), drawn.std(0).tolist(), sketches)
        better, worse = better + (apart.mean() > half), worse + (apart.mean() < -half)
    return better / TRIALS, worse / TRIALS


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("rows", "spread", "shared"), [(200, 0.0, 0.5), (200, 0.01, 0.9), (200, 0.03, 0.5), (800, 0.01, 0.5)]
)
@pytest.mark.parametrize("seeds", [3, 5])
def test_verdicts_over_seeds_are_rarely_false(seeds: int, rows: int, spread: float, shared: float) -> None:
    """2.5 % a side; of 500 simulations up to 4.4 % by chance."""
    assert max(verdicts(seeds, gain=0.0, rows=rows, spread=spread, shared=shared)) <= 0.044


@pytest.mark.nightly
@pytest.mark.parametrize("shared", [0.5, 0.9])
@pytest.mark.parametrize(("gain", "rows"), [(0.06, 200), (0.03, 800)])
def test_more_seeds_make_a_verdict_surer(gain: float, rows: int, shared: float) -> None:
    found = [verdicts(seeds, gain=gain, rows=rows, spread=0.005, shared=shared)[0] for seeds in (1, 3, 5)]
    assert found[0] + 0.1 < found[2] + 0.07 and found[0] < found[1] + 0.04 and found[1] < found[2] + 0.02, found
    wide = [verdicts(seeds, gain=gain, rows=rows, spread=0.03, shared=shared)[0] for seeds in (3, 5)]
    assert wide[0] < wide[1]


def of_seeds(right: np.ndarray, base: np.ndarray) -> list[RunRecord]:
    """Records of runs that have these rows right `(rows, seeds)`, with their margins over the baseline."""
    theirs, found = mean_counted(base[:, 0]), []
    for seed, column in enumerate(right.T):
        ours = mean_counted(column)
        margin = Margin(
            interval=score_interval(ours, resamples=2_000), sketch=sketch(ours),
            difference_interval=paired_bootstrap([theirs], [ours]).interval, difference_sketch=sketch(ours, theirs),
        )  # fmt: skip
        record = run(ours.score, majority=theirs.score, seed=seed)
        found.append(record.model_copy(update={"margins": {"dev": margin}}))
    return found


@pytest.mark.parametrize("seeds", [1, 3])
def test_tables_and_objects_have_the_interval_of_the_verdict(seeds: int) -> None:
    random = np.random.default_rng(7)
    records = of_seeds(*draw(random, gain=0.1, rows=300, seeds=seeds, spread=0.01, shared=0.6))
    low, high = verdict_of(records).interval or (0.0, 0.0)
    assert 0.5 < low < high < 1
    model = Run(records=records, out=Path()).scores.query("method == 'model'").set_index("metric")
    assert (model.loc["accuracy", "low"], model.loc["accuracy", "high"]) == (low, high)
    assert f"{100 * low:.1f} to {100 * high:.1f}" in next(iter(summary_table(records).rows))


@pytest.mark.nightly
@pytest.mark.parametrize("seeds", [1, 3, 5])
def test_the_verdict_is_that_of_a_paired_bootstrap_of_the_predictions(seeds: int) -> None:
    """From records alone, and as `compare` tests the runs against the baseline's predictions."""
    random = np.random.default_rng(seeds)
    for _ in range(5):
        right, base = draw(random, gain=0.05, rows=300, seeds=seeds, spread=0.005, shared=0.6)
        ours, theirs = [mean_counted(column) for column in right.T], mean_counted(base[:, 0])
        found = verdict_of(of_seeds(right, base)).difference_interval
        expected = paired_bootstrap([theirs], ours).interval
        assert found is not None and expected is not None
        assert found == pytest.approx(expected, abs=0.12 * (expected[1] - expected[0]))


def test_seeds_that_are_right_on_all_rows_keep_the_interval_of_one() -> None:
    margin = Margin(interval=(0.886, 1.0), difference_interval=(0.2, 0.5))
    records = [run(1.0, seed=seed).model_copy(update={"margins": {"dev": margin}}) for seed in range(3)]
    assert verdict_of(records).interval == verdict_of(records[:1]).interval == (0.886, 1.0)
