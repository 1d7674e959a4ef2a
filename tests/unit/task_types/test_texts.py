"""Texts: weights of rare classes, windows, and several labels a row, whose scores are scikit-learn's."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer
from support.toys import cat_task, labels_task, sentences, toy
from support.training import build
from torch.nn import functional
from transformers import AutoTokenizer

from finetune.data.source import Source
from finetune.models.batch import collate
from finetune.models.building import load_backbone
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.classification.head import LabelHead
from finetune.task_types.classification.task import MultiLabelRow, MultiLabelTask, SentenceRow, best_f1_threshold
from finetune.task_types.parts import Answer

LABELS = ("b", "a", "c/d", "e")


def row(*gold: str, text: str = "the cat") -> MultiLabelRow:
    return MultiLabelRow(id="r", text=text, gold=gold)


def made_up(rows: list[MultiLabelRow]) -> MultiLabelTask:
    task: MultiLabelTask = toy(MultiLabelTask, rows, name="toy-letters", labels=LABELS)
    return task


def test_scores_equal_scikit_learns() -> None:
    drawn = random.Random(1)
    gold, given = ([[y for y in LABELS if drawn.random() < 0.4] for _ in range(200)] for _ in range(2))
    rows = [row(*labels) for labels in gold]
    scores = made_up(rows).score([Answer(value=labels) for labels in given], rows)
    binarizer = MultiLabelBinarizer(classes=LABELS)
    true, found = binarizer.fit_transform(gold), binarizer.transform(given)
    expected = {f"{mean} f1": f1_score(true, found, average=mean) for mean in ("micro", "macro")}
    expected["exact match"] = accuracy_score(true, found)
    for index, label in enumerate(LABELS):
        parts = precision_recall_fscore_support(true[:, index], found[:, index], average="binary")
        expected |= {f"{label}/{name}": part for name, part in zip(("precision", "recall", "f1"), parts, strict=False)}
    assert scores == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gold", "probabilities", "expected"),
    [
        ([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], 0.5),  # anything between is as good
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9], 0.25),
        ([0, 0, 0, 1], [0.1, 0.6, 0.7, 0.9], 0.8),
        ([0, 0, 0], [0.1, 0.6, 0.7], 0.5),  # no row has it: nothing to choose by
        ([1, 1], [0.2, 0.3], 0.1),
        ([1, 0, 1, 0], [0.3, 0.3, 0.3, 0.3], 0.15),
    ],
)
def test_thresholds_by_hand(gold: list[int], probabilities: list[float], expected: float) -> None:
    assert best_f1_threshold(np.array(gold) == 1, np.array(probabilities)) == pytest.approx(expected)


def test_the_losses_by_hand_and_in_any_company(tiny_bert: Path) -> None:
    backbone, _ = load_backbone(tiny_bert, Recipe(task="any"))
    logits, flags, golds = torch.randn(3, 3), torch.tensor([[0, 1, 0], [1, 1, 1], [0, 0, 0]]), torch.tensor([0, 2, 1])
    p, losses = logits.sigmoid(), -logits.log_softmax(-1)[range(3), golds]
    for fields, labels, expected in (
        ({"kind": "flags"}, flags, -(flags * p.log() + (1 - flags) * (1 - p).log()).sum()),
        ({"class_weights": (0.5, 2.0, 3.0)}, golds, 0.5 * losses[0] + 3 * losses[1] + 2 * losses[2]),
        ({}, golds, functional.cross_entropy(logits, golds, reduction="sum")),
    ):
        head = LabelHead(backbone, ("a", "b", "c"), **fields)  # type: ignore[arg-type]
        assert float(head.loss(logits, labels)) == pytest.approx(float(expected), abs=1e-4)
        assert "class_weights" not in head.state_dict()  # or transformers' classes could not load it
    trainer, features = build(labels_task(), tiny_bert, Train(dropout=0.0))
    model = trainer.model.eval()
    parts = [collate(some, pad_id=0) for some in (features[:8], *([one] for one in features[:8]))]
    with torch.no_grad():
        together, *alone = (float(model.head.loss(model(*one.inputs()), one.labels["label"])) for one in parts)
    assert together == pytest.approx(sum(alone), abs=1e-4)


@pytest.mark.parametrize("max_length", [6, 24, 128])
def test_windows_are_those_that_the_tokenizer_would_make(max_length: int, tiny_vocabulary: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_vocabulary)
    texts = [*sentences(40, seed=7), "", "the " * 70, f"{tokenizer.sep_token} {'cat ' * 50}"]
    task = replace(cat_task([SentenceRow(id="", text=text, gold="yes") for text in texts]), windows=True)
    features = task.encode(task.load(Source(), "dev").rows, tokenizer, max_length)
    cut = {"truncation": True, "max_length": max_length, "stride": (max_length - 2) // 4, "padding": False}
    windows = [tokenizer(text, return_overflowing_tokens=True, **cut)["input_ids"] for text in texts]
    assert [(one.row, one.input_ids) for one in features] == [
        (n, ids) for n, some in enumerate(windows) for ids in some
    ]
    assert not any(feature.truncated for feature in features) and {feature.label for feature in features} == {1}
    assert max_length == 128 or max(Counter(feature.row for feature in features).values()) > 1
