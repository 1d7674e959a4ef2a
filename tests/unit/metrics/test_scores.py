"""Metrics against scikit-learn, scipy and values worked out by hand; each is the score of its sums over rows."""

import math
import random
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import (
    accuracy_score,
    cohen_kappa_score,
    f1_score,
    matthews_corrcoef,
    mean_absolute_error,
    precision_score,
    recall_score,
)
from support.toys import every_shape, labels_task

from finetune.data.source import Source
from finetune.metrics import scores as metrics
from finetune.metrics.confidence import expected_error, reliability
from finetune.metrics.metric import Metric, find_metric
from finetune.metrics.scores import ordinal_metrics
from finetune.metrics.significance import Rescored
from finetune.metrics.words import masked_accuracy, next_accuracy, perplexity, probability
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

GOLD = ["a", "a", "a", "b", "b", "b", "b", "b"]
ANSWERS = ["a", "a", "b", "b", "b", "b", "a", "b"]  # for `a`: 2 right, 1 missed, 1 too many
NAMES = list("abcd")
KAPPA, ERROR = ordinal_metrics(NAMES)


def places(labels: list[str]) -> list[int]:
    return [NAMES.index(label) for label in labels]


@pytest.mark.parametrize(
    ("metric", "gold", "answers", "expected"),
    [
        (metrics.accuracy, GOLD, ANSWERS, 6 / 8),
        (metrics.f1_of("a"), GOLD, ANSWERS, 2 * 2 / (2 * 2 + 1 + 1)),
        (metrics.f1_of("a"), ["b"], ["b"], 0),
        (metrics.macro_f1, GOLD, ANSWERS, (4 / 6 + 8 / 10) / 2),
        (metrics.macro_f1, ["a", "a"], ["a", "c"], (2 / 3 + 0) / 2),  # `c` was only answered
        (metrics.class_metric("never", "precision"), GOLD, ANSWERS, 0),
        (metrics.matthews, GOLD, ["a"] * 8, 0),
        (metrics.matthews, ["a", "b"], ["b", "a"], -1),
        (metrics.f1_from(3), [3.0, 2.9, 4.2, 1.0], [2.96, 3.0, 3.5, 0.2], 0.5),  # KLUE-STS: 2.96 is not rounded
        (metrics.f1_from(3), [1.0, 2.0], [1.0, 2.0], 0),
        (metrics.spearman, [1.0, 2.0, 3.0], [1.0, 1.0, 2.0], 0.866025),  # a tie
        *[
            (metric, *pair, 0)
            for metric in (metrics.pearson, metrics.spearman)
            for pair in [
                ([1.0, 2.0, 3.0], [3.0, 3.0, 3.0]), ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]), ([1.0], [1.0]),
                ([1.0, 2.0, 3.0], [math.nan, 1.0, 2.0]), ([1.0, 2.0, 3.0], [math.inf, 1.0, 2.0]),
            ]
        ],
        (KAPPA, ["b", "b"], ["b", "b"], 0),
        (KAPPA, NAMES, NAMES, 1),
        (ERROR, NAMES, ["d", "b", "c", "d"], 3 / 4),
        (ERROR, ["a", "c"], ["", ""], (3 + 2) / 2),  # a missing prediction is as far as can be
    ],
)  # fmt: skip
def test_a_score_by_hand(metric: Any, gold: list[Any], answers: list[Any], expected: float) -> None:
    assert metric.score(gold, answers) == pytest.approx(expected, abs=1e-6)
    assert metric.sums is None or metric.sums(gold, answers).score == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "theirs"),
    [
        (metrics.accuracy, accuracy_score),
        (metrics.macro_f1, partial(f1_score, average="macro")),
        (metrics.matthews, matthews_corrcoef),
        (metrics.f1_of("a"), partial(f1_score, labels=["a"], average="macro")),
        (metrics.class_metric("b", "precision"), partial(precision_score, labels=["b"], average="macro")),
        (metrics.class_metric("b", "recall"), partial(recall_score, labels=["b"], average="macro")),
        (KAPPA, partial(cohen_kappa_score, labels=NAMES, weights="quadratic")),
        (ERROR, lambda gold, answers: mean_absolute_error(places(gold), places(answers))),
    ],
)
def test_rows_and_resamples_of_them_score_as_scikit_learn_says(metric: Any, theirs: Any) -> None:
    draw = np.random.default_rng(7)
    gold, answers = draw.choice(list("abc"), 60).tolist(), draw.choice(NAMES, 60).tolist()
    found = metric.sums(gold, answers)
    chosen = draw.integers(0, 60, (5, 60))
    weights = np.stack([np.bincount(rows, minlength=60) for rows in chosen]).astype(float)
    expected = [theirs([gold[i] for i in rows], [answers[i] for i in rows]) for rows in chosen]
    assert metric.score(gold, answers) == found.score == pytest.approx(theirs(gold, answers))
    assert found.resampled(weights) == pytest.approx(expected)


def test_correlations_of_resamples_are_scipys_also_of_one_that_is_no_sum() -> None:
    draw = np.random.default_rng(7)
    gold = draw.normal(100, 1, 50)
    answers = gold + draw.normal(0, 1, 50)
    weights = draw.integers(0, 3, (4, 50)).astype(float)
    rows = [np.repeat(np.arange(50), weight.astype(int)) for weight in weights]
    found = metrics.pearson.sums(gold.tolist(), answers.tolist())
    assert found.resampled(weights) == pytest.approx([stats.pearsonr(gold[i], answers[i]).statistic for i in rows])
    assert metrics.pearson.score(gold, answers) == pytest.approx(stats.pearsonr(gold, answers).statistic)
    ranks = Rescored(metric=lambda i: metrics.spearman.score(gold[i], answers[i]), size=50)
    assert ranks.resampled(weights) == pytest.approx([stats.spearmanr(gold[i], answers[i]).statistic for i in rows])


@pytest.mark.parametrize("task", every_shape(), ids=lambda task: task.name)
def test_counts_of_a_task_add_up_to_its_scores(task: Task) -> None:
    rows = task.load(Source(), "dev").rows
    gold = [answer.value for answer in task.labels_of(rows)]
    order = np.random.default_rng(7).permutation(len(rows))
    mixed = [Answer(value=gold[j] if i % 3 and task.fits(gold[j], rows[i]) else gold[i]) for i, j in enumerate(order)]
    if isinstance(task, type(labels_task())):
        mixed[0] = Answer(value=[])
    for answers in (mixed, task.labels_of(rows)):
        scores, found = task.score(answers, rows), task.sums(answers, rows)
        assert set(scores) - set(found) <= {"spearman"}
        assert {name: each.score for name, each in found.items()} == pytest.approx(
            {name: scores[name] for name in found}
        )


def test_the_worst_score_and_the_best() -> None:
    lower = Metric("perplexity", scale=1, greater_is_better=False)
    assert max([math.nan, -1.0, 0.5, math.nan], key=metrics.accuracy.rank) == 0.5
    assert max([math.nan, 30.0, 12.5], key=lower.rank) == 12.5
    error, small = Metric("error", scale=1), Metric("big/small/error", scale=10)
    found = [find_metric(name, (error, small)) for name in ("error", "PER/error", "big/small/error", "odd")]
    assert found == [error, error, small, Metric("odd")]


def test_an_interval_has_only_scores_that_are_possible() -> None:
    wide = (-1.5, 1.7)
    for name, ends, of_differences in (("PER/f1", (0, 1), (-1, 1)), ("matthews", (-1, 1), (-1.5, 1.7))):
        assert find_metric(name, ()).possible(wide, around=0.5) == ends
        assert find_metric(name, ()).possible_difference(wide, around=0.1) == of_differences
    assert KAPPA.possible_difference((-3.0, 1.7), around=0.1) == (-2.0, 1.7)
    assert ERROR.possible(wide, around=0.5) == wide
    assert Metric("r2").possible((-3.0, -1.0), around=-2.0) == (-3.0, -1.0)
    assert metrics.accuracy.possible(None, around=0.5) is None
    assert perplexity.possible((-91_991.0, 654_252.0), around=281_131.0) == (0.0, 654_252.0)


def test_scores_of_words_are_those_of_all_words_together() -> None:
    draw, gold, answers = random.Random(0), [], []
    for _ in range(20):
        words, pairs = draw.choices("abc", k=draw.randint(0, 5)), draw.choices([True, False], k=draw.randint(0, 3))
        gold.append({"words": words, "nats": [0.0] * len(words), "next": pairs})
        answers.append({
            "words": draw.choices("abc", k=len(words)), "nats": [draw.uniform(0, 9) for _ in words],
            "next": draw.choices([True, False], k=len(pairs)),
        })  # fmt: skip
    nats = [nat for answer in answers for nat in answer["nats"]]
    right, follows = (
        [a == b for g, w in zip(gold, answers, strict=True) for a, b in zip(g[part], w[part], strict=True)]
        for part in ("words", "next")
    )
    every: Any = (perplexity, probability, masked_accuracy, next_accuracy)
    expected = [math.exp(np.mean(nats)), math.exp(-np.mean(nats)), np.mean(right), np.mean(follows)]
    assert [metric.score(gold, answers) for metric in every] == pytest.approx(expected)
    assert [metric.score(gold, gold) for metric in every] == [1, 1, 1, 1]
    some = [3, 3, 8, 0]
    for metric in every:
        again = metric.score([gold[i] for i in some], [answers[i] for i in some])
        found = metric.sums(gold, answers)
        assert float(found.value(found.counts[some].sum(0))) == pytest.approx(again)
    assert [metric.greater_is_better for metric in every] == [False, True, True, True]
    assert every[0].score([], [{"nats": [1e6]}]) == pytest.approx(math.exp(34))
    assert every[0].score([], [{"nats": []}]) == 1


def test_the_calibration_error_by_hand() -> None:
    bins = reliability(np.array([0.95, 0.92, 0.65, 0.7, 0.25, 1.0]), np.array([1, 0, 1, 1, 0, 1]))
    assert [(round(b.low, 1), b.count) for b in bins] == [(0.2, 1), (0.6, 2), (0.9, 3)]  # 0.7 ends the bin before it
    by_hand = (1 * abs(0 - 0.25) + 2 * abs(1 - 0.675) + 3 * abs(2 / 3 - 2.87 / 3)) / 6
    assert expected_error(bins) == pytest.approx(by_hand)
    assert expected_error(reliability(np.array([0.0, 1.0]), np.array([0, 1]))) == expected_error([]) == 0
