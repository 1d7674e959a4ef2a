"""Metrics as sums over rows: counts that add up to scores."""

import numpy as np
import pytest
from scipy import stats
from support.toys import every_shape, labels_task

from finetune.data.source import Source
from finetune.metrics import scores as metrics
from finetune.metrics.metric import Metric
from finetune.metrics.significance import Rescored
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("task", every_shape(), ids=lambda task: task.name)
def test_counts_add_up_to_the_scores(task: Task) -> None:
    rows = task.load(Source(), "dev").rows
    gold = [answer.value for answer in task.labels_of(rows)]
    order = RANDOM.permutation(len(rows))
    mixed = [Answer(value=gold[j] if i % 3 and task.fits(gold[j], rows[i]) else gold[i]) for i, j in enumerate(order)]
    if isinstance(task, type(labels_task())):
        mixed[0] = Answer(value=[])
    for answers in (mixed, task.labels_of(rows)):
        scores, found = task.score(answers, rows), task.sums(answers, rows)
        assert set(scores) - set(found) <= {"spearman"}
        assert {name: each.score for name, each in found.items()} == pytest.approx(
            {name: scores[name] for name in found}
        )


OF_CLASSES = [m for m in vars(metrics).values() if isinstance(m, Metric) and m.sums and m != metrics.pearson]


@pytest.mark.parametrize(
    "metric", [*OF_CLASSES, metrics.f1_of("a"), metrics.class_metric("b", "recall")], ids=lambda metric: metric.name
)
def test_a_resample_scores_as_its_rows_do(metric: Metric) -> None:
    gold, answers = RANDOM.choice(list("abc"), 60).tolist(), RANDOM.choice(list("abcd"), 60).tolist()
    assert metric.score is not None and metric.sums is not None
    found = metric.sums(gold, answers)
    chosen = RANDOM.integers(0, 60, (5, 60))
    weights = np.stack([np.bincount(rows, minlength=60) for rows in chosen]).astype(float)
    expected = [metric.score([gold[i] for i in rows], [answers[i] for i in rows]) for rows in chosen]
    assert found.resampled(weights) == pytest.approx(expected)


def test_pearson_of_a_resample_and_a_metric_that_is_no_sum() -> None:
    gold = RANDOM.normal(100, 1, 50)
    answers = gold + RANDOM.normal(0, 1, 50)
    found = metrics.pearson.sums(gold.tolist(), answers.tolist())
    weights = RANDOM.integers(0, 3, (4, 50)).astype(float)
    rows = [np.repeat(np.arange(50), weight.astype(int)) for weight in weights]
    assert found.resampled(weights) == pytest.approx([stats.pearsonr(gold[i], answers[i]).statistic for i in rows])
    assert metrics.spearman.sums is None
    ranks = Rescored(metric=lambda i: metrics.spearman.score(gold[i], answers[i]), size=50)
    assert ranks.resampled(weights) == pytest.approx([stats.spearmanr(gold[i], answers[i]).statistic for i in rows])
