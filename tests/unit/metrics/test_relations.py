"""Scores of relations: as scikit-learn and the official scripts compute them."""

import random

import numpy as np
import pytest
from sklearn.metrics import auc, f1_score, precision_recall_curve

from finetune.metrics.scores import directed_macro_f1, mean_area, micro_f1_without

LABELS = ("no_relation", "per:title", "org:product", "per:spouse")
RELATIONS = ("Other", "Cause-Effect(e1,e2)", "Cause-Effect(e2,e1)", "Entity-Origin(e1,e2)", "Entity-Origin(e2,e1)")


def drawn(names: tuple[str, ...], seed: int) -> tuple[list[str], list[str]]:
    generator = random.Random(seed)
    gold = generator.choices(names, k=60)
    return gold, [label if generator.random() < 0.6 else generator.choice(names) for label in gold]


@pytest.mark.parametrize("seed", range(5))
def test_micro_f1_is_that_of_scikit_learn_over_the_other_classes(seed: int) -> None:
    gold, answers = drawn(LABELS, seed)
    metric = micro_f1_without("no_relation")
    expected = f1_score(gold, answers, average="micro", labels=LABELS[1:])
    assert metric.score(gold, answers) == pytest.approx(expected) == metric.sums(gold, answers).score
    assert metric.score(gold, gold) == 1
    assert metric.score(gold, ["no_relation"] * len(gold)) == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_area_is_that_of_klue_where_every_class_has_rows(seed: int) -> None:
    gold, _ = drawn(LABELS, seed)
    chances = np.random.default_rng(seed).dirichlet(np.ones(len(LABELS)), len(gold))
    onehot = np.eye(len(LABELS))[[LABELS.index(label) for label in gold]]
    areas = []
    for place in range(len(LABELS)):
        precision, recall, _ = precision_recall_curve(onehot[:, place], chances[:, place])
        areas.append(auc(recall, precision))
    assert mean_area(gold, chances, LABELS) == pytest.approx(np.mean(areas))
    assert mean_area(gold, onehot, LABELS) == pytest.approx(1)
    assert mean_area(["per:title", "org:product"], np.eye(4)[[1, 2]], LABELS) == 1  # a class without rows has no area


def official(gold: list[str], answers: list[str]) -> float:
    """The script's steps: wrong directions count as given to their relation, and are not right."""
    kinds = sorted({label.partition("(")[0] for label in gold} - {"Other"})
    scores = []
    for kind in kinds:
        right = sum(a == b and a.startswith(kind) for a, b in zip(gold, answers, strict=True))
        proposed = sum(b.startswith(kind) for b in answers)
        actual = sum(a.startswith(kind) for a in gold)
        precision, recall = right / proposed if proposed else 0, right / actual
        scores.append(2 * precision * recall / (precision + recall) if precision + recall else 0)
    return sum(scores) / len(scores)


@pytest.mark.parametrize("seed", range(5))
def test_semeval_counts_a_wrong_direction_twice(seed: int) -> None:
    gold, answers = drawn(RELATIONS, seed)
    metric = directed_macro_f1("Other")
    assert metric.score(gold, answers) == pytest.approx(official(gold, answers))
    assert metric.score(gold, gold) == 1
    swapped = [label.replace("e1,e2", "e").replace("e2,e1", "e1,e2").replace("(e)", "(e2,e1)") for label in gold]
    assert metric.score(gold, swapped) == 0
    assert metric.score(["Other", "Cause-Effect(e1,e2)"], ["Entity-Origin(e1,e2)", "Cause-Effect(e1,e2)"]) == 1
