"""Several labels a row: scores equal scikit-learn's, thresholds are the best on dev, saved and used."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer
from support.toys import labels_task, toy
from support.training import build

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import load_backbone
from finetune.models.feature import Feature
from finetune.runs.recipe import Recipe, Train
from finetune.task_types import baselines
from finetune.task_types.classification.head import LabelHead
from finetune.task_types.classification.task import MultiLabelRow, MultiLabelTask, best_f1_threshold
from finetune.task_types.options import configured
from finetune.task_types.parts import Answer

LABELS = ("b", "a", "c/d", "e")


def row(*gold: str, text: str = "the cat") -> MultiLabelRow:
    return MultiLabelRow(id="r", text=text, gold=gold)


def made_up(rows: list[MultiLabelRow], **fields: Any) -> MultiLabelTask:
    return toy(MultiLabelTask, rows, name="toy-letters", labels=LABELS, **fields)


def random_sets(count: int, *, seed: int) -> list[list[str]]:
    generator = random.Random(seed)
    return [[label for label in LABELS if generator.random() < 0.4] for _ in range(count)]


def test_scores_equal_scikit_learns() -> None:
    gold, given = random_sets(200, seed=1), random_sets(200, seed=2)
    rows = [row(*labels) for labels in gold]
    scores = made_up(rows).score([Answer(value=labels) for labels in given], rows)
    binarizer = MultiLabelBinarizer(classes=LABELS)
    expected, found = binarizer.fit_transform(gold), binarizer.transform(given)
    assert scores["micro f1"] == pytest.approx(f1_score(expected, found, average="micro"))
    assert scores["macro f1"] == pytest.approx(f1_score(expected, found, average="macro"))
    assert scores["exact match"] == pytest.approx(accuracy_score(expected, found))
    for index, label in enumerate(LABELS):
        precision, recall, f1, _ = precision_recall_fscore_support(
            expected[:, index], found[:, index], average="binary"
        )
        assert scores[f"{label}/precision"] == pytest.approx(precision)
        assert scores[f"{label}/recall"] == pytest.approx(recall)
        assert scores[f"{label}/f1"] == pytest.approx(f1)
    assert 0 < scores["exact match"] < scores["micro f1"] < 1
    assert scores["micro f1"] != pytest.approx(scores["macro f1"], abs=1e-4)


def test_what_never_occurs_divides_by_nothing() -> None:
    rows = [row("a"), row()]
    task = made_up(rows)
    scores = task.score([Answer(value=["a"]), Answer(value=["b"])], rows)
    assert (scores["a/f1"], scores["b/f1"], scores["e/f1"]) == (1.0, 0.0, 0.0)
    assert scores["macro f1"] == 0.5  # of `a` and `b`: the two others are in neither gold nor answers
    assert scores["micro f1"] == pytest.approx(2 / 3)
    nothing = [row(), row()]
    scores = task.score(task.labels_of(nothing), nothing)
    assert (scores["micro f1"], scores["macro f1"], scores["exact match"]) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("gold", "probabilities", "expected"),
    [
        ([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], 0.5),  # anything between is as good
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9], 0.25),
        ([0, 0, 0, 1], [0.1, 0.6, 0.7, 0.9], 0.8),
        ([0, 0, 0], [0.1, 0.6, 0.7], 0.5),  # no row has it: nothing to choose by
        ([1, 1], [0.2, 0.3], 0.1),
        ([1, 1], [0.7, 0.8], 0.5),
        ([1, 0, 1, 0], [0.3, 0.3, 0.3, 0.3], 0.15),
    ],
)
def test_thresholds_by_hand(gold: list[int], probabilities: list[float], expected: float) -> None:
    assert best_f1_threshold(np.array(gold) == 1, np.array(probabilities)) == pytest.approx(expected)


def test_thresholds_are_chosen_by_label_and_decide() -> None:
    rows = [row("a"), row("a", "b"), row("b"), row()]
    task = made_up(rows)
    given = ([1, -2, -9, -9], [3, -1, -9, -9], [4, -5, -9, -9], [0, -6, -9, -9])
    logits = [np.array(row, dtype=np.float32) for row in given]
    features = [Feature(row=index) for index in range(4)]
    before = task.decode(logits, features, rows)
    assert [answer.value for answer in before] == [["b"]] * 4
    chosen = task.tune(before, rows)
    tuned = configured(task, chosen)
    assert [answer.value for answer in tuned.decode(logits, features, rows)] == [["a"], ["b", "a"], ["b"], []]
    between = [(np.tanh(x / 2) + np.tanh(y / 2) + 2) / 4 for x, y in ((1, 3), (-5, -2))]
    assert chosen["thresholds"] == pytest.approx([*between, 0.5, 0.5], abs=1e-6)
    assert tuned.tune(before, rows) == {}  # what was given is kept


@pytest.mark.parametrize(
    ("thresholds", "expected"),
    [
        ([0.5, 0.5], r"'thresholds' has 2 numbers.*b, a, c/d, e"),
        ([0.5, 0.5, 0.5, 1.5], "input should be less than or equal to 1"),
        ("0.5", "'thresholds' is '0.5'"),
        ([0.5, 0.5, 0.5, "0.5"], "input should be a valid number"),
    ],
)
def test_wrong_thresholds_are_named(thresholds: Any, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        configured(made_up([]), {"thresholds": thresholds})


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (row("a", "x"), r"row 'r'.*a, x.*b, a, c/d, e"),
        (row("a", "a"), r"row 'r'.*a, a"),
        (MultiLabelRow(id="r", text="", pair="", gold=()), r"row 'r'"),
    ],
)
def test_wrong_rows_are_named(wrong: MultiLabelRow, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        made_up([row("a"), wrong]).load(Source(), "train")


def test_the_loss_by_hand_and_in_any_company(tiny_bert: Path) -> None:
    backbone, _ = load_backbone(tiny_bert, Recipe(task="any"))
    head = LabelHead(backbone, LABELS, kind="flags")
    logits, labels = torch.randn(3, 4), torch.tensor([[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]])
    p = logits.sigmoid()
    expected = -(labels * p.log() + (1 - labels) * (1 - p).log()).sum()
    assert float(head.loss(logits, labels)) == pytest.approx(float(expected), abs=1e-4)

    trainer, features = build(labels_task(), tiny_bert, Train(dropout=0.0))
    model = trainer.model.eval()
    assert len({len(feature) for feature in features[:8]}) > 3
    batch = collate(features[:8], pad_id=0)
    parts = [collate([feature], pad_id=0) for feature in features[:8]]
    with torch.no_grad():
        together = model.head.loss(model(*batch.inputs()), batch.labels["label"])
        alone = sum(float(model.head.loss(model(*part.inputs()), part.labels["label"])) for part in parts)
    assert float(together) == pytest.approx(alone, abs=1e-4)


def test_baselines_learn_what_words_give_away() -> None:
    seen = [row("a", text="a red cat"), row("a", "b", text="a red dog"), row(text="the moon flew")] * 10
    seen += [row("a", text="red")] * 11
    given = made_up(seen).baselines(seen, [row(text="a dog"), row(text="the moon"), row(text="red cat")])
    assert [answer.value for answer in given["majority"]] == [["a"]] * 3
    assert [answer.value for answer in given["tfidf-logistic"]] == [["b", "a"], [], ["a"]]
    for answer in given["tfidf-logistic"]:
        assert answer.probabilities is not None
        assert answer.probabilities[2:] == [0.0, 0.0]  # labels that no row had
    gold = np.array([[True, False], [True, True]])
    assert baselines.tfidf_multilabel([("?",), ("!",)], gold, [("x",)]).tolist() == [[1.0, 0.5]]
