"""The learning curve over the size of the data, and its answer."""

from dataclasses import replace
from typing import Any

import pytest
from support.records import run

from finetune.analysis.data_sizes import learning_curves, more_labels
from finetune.runs.record import RunRecord


def record(score: float, share: float, seed: int = 1, **facts: Any) -> RunRecord:
    made = run(score, seed=seed, majority=0.4)
    changed = {"recipe": made.recipe | {"train_share": share}, "rows": {**made.rows, "train": round(1_000 * share)}}
    return made.model_copy(update={"id": f"{round(100 * share)}-{seed}", **changed, **facts})


def test_sizes_are_in_order_with_the_mean_of_their_seeds() -> None:
    scores = ((0.9, 1.0, 1), (0.5, 0.1, 1), (0.7, 0.1, 2), (0.8, 1.0, 2))
    records = [record(score, share, seed) for score, share, seed in scores]
    (curve,) = learning_curves(records, {})
    sizes = [(size.share, size.rows, round(size.verdict.score, 3)) for size in curve.sizes]
    assert sizes == [(0.1, 100, 0.6), (1, 1_000, 0.85)]
    assert list(curve.frame["baseline"]) == [pytest.approx(0.4)] * 2
    assert learning_curves(records[1:3], {}) == []
    assert learning_curves([records[0], record(0.5, 0.1, data="other rows")], {}) == []
    (curve,) = learning_curves([record(0.5, 0.1), record(0.6, 0.5), record(0.7, 1.0)], {})
    assert "the last doubling (500 to 1,000 rows) raised dev accuracy by 10.0 points" in curve.answer
    assert "without an interval" in curve.answer


@pytest.mark.parametrize(
    ("interval", "answer"),
    [
        ((0.01, 0.05), "More labels would probably help"),
        ((-0.05, -0.01), "More labels of this kind would probably not help"),
        ((-0.02, 0.004), "More labels would hardly help"),
        ((-0.02, 0.04), "Whether more labels would help is unclear"),
    ],
)
def test_the_answer_follows_the_interval(interval: tuple[float, float], answer: str) -> None:
    before, after = learning_curves([record(0.5, 0.5), record(0.6, 1.0)], {})[0].sizes
    said = more_labels(before, after, sum(interval) / 2, interval)
    assert said.startswith(answer)
    assert "500 to 1,000 rows" in said
    texts = [one.model_copy(update={"headline": "perplexity"}) for one in after.records]
    of_texts = more_labels(before, replace(after, records=texts), sum(interval) / 2, interval)
    assert "labels" not in of_texts and "more text" in of_texts.lower()
