"""Of several settings the Python API and the command line choose the same one, by the mean over its seeds."""

import math
from pathlib import Path
from typing import Any

import pytest
from support.records import run

from finetune.api.run import Run
from finetune.cli.run_facts import verdicts
from finetune.cli.run_tables import summary_lines, summary_table
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import SavedMetric
from finetune.runs.seeds import best_group, best_run

LUCKY, STEADY = {"train": {"learning_rate": 1e-5}}, {"train": {"learning_rate": 2e-5}}


def made(score: float, *, seed: int, number: int, **settings: Any) -> RunRecord:
    return run(score, seed=seed, majority=0.84, **settings).model_copy(update={"id": f"{number:010d}"})


def two_by_two(*lucky: float, steady: tuple[float, float] = (0.85, 0.86)) -> list[RunRecord]:
    """Two seeds of each of two settings."""
    given = [(score, seed, LUCKY) for seed, score in enumerate(lucky)]
    given += [(score, seed, STEADY) for seed, score in enumerate(steady)]
    return [made(score, seed=seed, number=number, **setting) for number, (score, seed, setting) in enumerate(given)]


def assert_same_verdict(records: list[RunRecord], words: str) -> None:
    """The verdict of both has these words, and the summary names the same setting."""
    found = Run(records=records, out=Path("results"))
    ((_, judged),) = verdicts(records)
    assert found.verdict == judged
    assert words in judged.sentence
    assert found.record in best_group(records)


def test_one_lucky_seed_does_not_make_a_setting_the_best() -> None:
    records = two_by_two(0.95, 0.50)
    assert_same_verdict(records, "1.5 points better than the majority label")
    assert "learning_rate 2e-05" in "".join(summary_lines(records))
    assert Run(records=records, out=Path("results")).record.score == 0.86


def test_an_undefined_mean_is_the_worst() -> None:
    assert_same_verdict(two_by_two(0.99, math.nan), "1.5 points better than the majority label")


def test_the_largest_size_of_the_data_is_judged() -> None:
    shares = [
        made(score, seed=1, number=i, train_share=share) for i, (score, share) in enumerate([(0.9, 0.5), (0.8, 1)])
    ]
    assert_same_verdict(shares, "4.0 points worse than the majority label")
    assert best_run(shares) is shares[1]


def test_the_least_error_is_the_best_where_less_is_better() -> None:
    lower = {"metrics": {"accuracy": SavedMetric(scale=1, greater_is_better=False)}}
    records = [one.model_copy(update=lower) for one in two_by_two(0.1, 0.9, steady=(0.3, 0.2))]
    assert [record.score for record in best_group(records)] == [0.3, 0.2]
    assert best_run(records).score == pytest.approx(0.2)


def folds(*scores: float, **settings: Any) -> list[RunRecord]:
    """A run on each fold, whose rows are others and whose baseline has a score of its own."""
    return [
        run(score, majority=0.5 + fold / 100, data=f"rows {fold}", options={"fold": fold}, **settings).model_copy(
            update={"id": f"{round(1000 * score):010d}"}
        )
        for fold, score in enumerate(scores)
    ]


def test_folds_are_averaged_and_none_is_the_best() -> None:
    records = folds(0.6, 0.9, 0.6)
    assert_same_verdict(records, "19.0 points better than the majority label. Dev accuracy is 70.0, mean of 3 folds")
    assert best_run(records) is records[0]
    assert summary_lines(records) == []
    model = Run(records=records, out=Path()).scores.query("method == 'model' and metric == 'accuracy'")
    assert [*zip(model["score"], model["runs"], strict=True)] == [(pytest.approx(0.7), 3)]
    assert next(iter(summary_table(records).rows))[-1] == "51.0"  # the mean of the baselines


def test_of_two_settings_with_folds_the_better_mean_is_the_best() -> None:
    records = folds(0.6, 0.9, **LUCKY) + folds(0.8, 0.8, **STEADY)
    ((whose, judged),) = verdicts(records)
    assert "best is train.learning_rate 2e-05" in whose and "mean of 2 folds" in judged.sentence
    assert "best of 2 settings" in summary_lines(records)[0]
    again = [one.model_copy(update={"recipe": one.recipe | {"seed": 2}, "id": f"1{one.id[1:]}"}) for one in records]
    assert "mean of 4 runs of 2 folds" in verdicts(records + again)[0][1].sentence
