"""Of several settings the Python API and the command line choose the same one, by the mean over its seeds."""

import math
from pathlib import Path
from typing import Any

import pytest
from support.records import run

from finetune.analysis.run_facts import verdicts
from finetune.api.run import Run
from finetune.runs.record import RunRecord, SavedMetric
from finetune.runs.seeds import best_group, best_run

LUCKY, STEADY = {"train": {"learning_rate": 1e-5}}, {"train": {"learning_rate": 2e-5}}
LOWER = {"metrics": {"accuracy": SavedMetric(scale=1, greater_is_better=False)}}


def made(*given: tuple[float, dict[str, Any]], **changed: Any) -> list[RunRecord]:
    """Records with ids in the order of their scores, of seeds in order within each settings."""
    return [
        run(score, **{"seed": number % 2, "majority": 0.84} | settings).model_copy(
            update={"id": f"{number:010d}"} | changed
        )
        for number, (score, settings) in enumerate(given)
    ]


def folds(*scores: float, **settings: Any) -> list[tuple[float, dict[str, Any]]]:
    """A run on each fold, whose rows are others and whose baseline has a score of its own."""
    return [
        (
            score,
            {"majority": 0.5 + fold / 100, "data": f"rows {fold}", "options": {"fold": fold}, "seed": 1, **settings},
        )
        for fold, score in enumerate(scores)
    ]


STEADY_SEEDS = ((0.85, STEADY), (0.86, STEADY))
CASES: list[tuple[list[RunRecord], list[float], str]] = [  # records, scores of the best setting, and its verdict
    (made((0.95, LUCKY), (0.50, LUCKY), *STEADY_SEEDS), [0.85, 0.86], "1.5 points better than the majority label"),
    (made((0.99, LUCKY), (math.nan, LUCKY), *STEADY_SEEDS), [0.85, 0.86], "1.5 points better than the majority label"),
    (made((0.9, {"train_share": 0.5}), (0.8, {"train_share": 1})), [0.8], "4.0 points worse than the majority label"),
    (made((0.1, LUCKY), (0.9, LUCKY), (0.3, STEADY), (0.2, STEADY), **LOWER), [0.3, 0.2], "better than the majority"),
    (
        made(*folds(0.6, 0.9, 0.6)), [0.6, 0.9, 0.6],
        "19.0 points better than the majority label. Dev accuracy is 70.0, mean of 3 folds",
    ),
    (
        made(*folds(0.6, 0.9, **LUCKY), *folds(0.8, 0.8, **STEADY)), [0.8, 0.8],
        "29.5 points better than the majority label. Dev accuracy is 80.0, mean of 2 folds",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("records", "best", "words"), CASES)
def test_the_best_setting_is_that_of_the_best_mean(records: list[RunRecord], best: list[float], words: str) -> None:
    """One lucky seed does not make it, an undefined mean is the worst, the largest size of the data is judged."""
    found = Run(records=records, out=Path("results"))
    ((_, judged),) = verdicts(records)
    assert found.verdict == judged and words in judged.sentence
    assert [record.score for record in best_group(records)] == best
    assert found.record in best_group(records) and best_run(records) is found.record
