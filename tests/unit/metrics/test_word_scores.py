"""Perplexity and accuracy of words: scores are those of their sums, and perfect for labels."""

import math
import random
from typing import Any

import numpy as np
import pytest

from finetune.metrics.words import masked_accuracy, next_accuracy, perplexity, probability

EVERY = (perplexity, probability, masked_accuracy, next_accuracy)
Values = list[dict[str, Any]]


def rows(count: int, *, seed: int = 0) -> tuple[Values, Values]:
    drawn = random.Random(seed)
    gold, answers = [], []
    for _ in range(count):
        words, pairs = drawn.choices("abc", k=drawn.randint(0, 5)), drawn.choices([True, False], k=drawn.randint(0, 3))
        gold.append({"words": words, "nats": [0.0] * len(words), "next": pairs})
        answers.append({
            "words": drawn.choices("abc", k=len(words)),
            "nats": [drawn.uniform(0, 9) for _ in words],
            "next": drawn.choices([True, False], k=len(pairs)),
        })  # fmt: skip
    return gold, answers


def test_a_score_is_that_of_the_sums() -> None:
    gold, answers = rows(20)
    nats = [nat for answer in answers for nat in answer["nats"]]
    right = [a == b for g, w in zip(gold, answers, strict=True) for a, b in zip(g["words"], w["words"], strict=True)]
    follows = [a == b for g, w in zip(gold, answers, strict=True) for a, b in zip(g["next"], w["next"], strict=True)]
    expected = [math.exp(np.mean(nats)), math.exp(-np.mean(nats)), np.mean(right), np.mean(follows)]
    for metric, value in zip(EVERY, expected, strict=True):
        assert metric.score is not None and metric.sums is not None
        assert metric.score(gold, answers) == pytest.approx(value)
        found = metric.sums(gold, answers)
        assert len(found.counts) == 20
        some = np.array([3, 3, 8, 0])
        again = metric.score([gold[i] for i in some], [answers[i] for i in some])
        assert float(found.value(found.counts[some].sum(0))) == pytest.approx(again)


def test_labels_are_perfect() -> None:
    gold, _ = rows(20)
    none: Values = [{"words": [], "nats": [], "next": []}]
    assert [metric.score(gold, gold) for metric in EVERY if metric.score] == [1, 1, 1, 1]
    assert [metric.score(none, none) for metric in EVERY[:2] if metric.score] == [1, 1]


def test_a_smaller_perplexity_is_better_and_a_huge_one_is_a_number() -> None:
    assert [metric.greater_is_better for metric in EVERY] == [False, True, True, True]
    assert perplexity.score is not None
    assert math.isfinite(perplexity.score([], [{"nats": [1e6]}]))


def test_scores_of_any_magnitude_are_short() -> None:
    found = {13_697.6: "13,698", 33_962_142.8: "3.40e7", 42.04: "42.0", 8.312: "8.31", 1: "1.00", 0: "0.0"}
    assert {value: perplexity.shown(value) for value in found} == found
    assert (perplexity.signed(-2_496.8), perplexity.signed(2.5)) == ("-2,497", "+2.50")
    assert [probability.shown(value) for value in (7.3e-5, 3e-8, 0.25)] == ["0.00730", "3.00e-6", "25.0"]
    assert masked_accuracy.shown(7.3e-5) == "0.0"


def test_an_interval_of_few_seeds_has_no_negative_perplexity() -> None:
    assert perplexity.possible((-91_991.0, 654_252.0), around=281_131.0) == (0.0, 654_252.0)
    assert perplexity.possible_difference((-5.0, 9.0), around=2.0) == (-5.0, 9.0)
