"""Sentences: rare classes that weigh more, and long texts that are read in windows."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from support.toys import cat_rows, cat_task, length_task, sentences
from torch.nn import functional
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from finetune.data.source import Source
from finetune.models.building import load_backbone
from finetune.models.feature import Feature
from finetune.runs.recipe import Recipe
from finetune.task_types.classification.head import LabelHead
from finetune.task_types.classification.task import SentenceRow, SentenceTask
from finetune.task_types.declared import option
from finetune.task_types.options import task_options


def seen(task: SentenceTask) -> SentenceTask:
    return task.fit(task.load(Source(), "train").rows)


def test_weights_are_scikit_learns_and_one_in_the_mean() -> None:
    golds = ["no"] * 17 + ["yes"] * 3 + ["maybe"] * 5
    rows = [SentenceRow(id=str(i), text="the cat", gold=gold) for i, gold in enumerate(golds)]
    task = replace(cat_task(rows), labels=("yes", "no", "maybe"), class_weight="balanced")
    expected = compute_class_weight("balanced", classes=np.array(task.labels), y=golds)
    assert seen(task).class_weights == pytest.approx(expected.tolist())
    by_label = dict(zip(task.labels, seen(task).class_weights, strict=True))
    assert sum(by_label[gold] for gold in golds) == pytest.approx(len(golds))


def test_options_of_a_reader_are_set_with_those_of_the_shape() -> None:
    @dataclass(frozen=True)
    class Reader:
        fold: int = option(0, "which fold is read")

    task = replace(cat_task(), read=Reader())
    assert task_options(task) == task_options(replace(task, windows=True)) == ["class_weight", "windows", "fold"]
    assert task_options(replace(task, labels=())) == ["windows", "fold"]


def test_the_weighed_loss_by_hand(tiny_bert: Path) -> None:
    backbone, _ = load_backbone(tiny_bert, Recipe(task="any"))
    head = LabelHead(backbone, ("a", "b", "c"), class_weights=(0.5, 2.0, 3.0))
    logits, labels = torch.randn(4, 3), torch.tensor([0, 2, 1, 0])
    losses = -logits.log_softmax(-1)[range(4), labels]
    expected = 0.5 * losses[0] + 3 * losses[1] + 2 * losses[2] + 0.5 * losses[3]
    assert float(head.loss(logits, labels)) == pytest.approx(float(expected), abs=1e-5)
    plain = LabelHead(backbone, ("a", "b", "c"))
    expected = functional.cross_entropy(logits, labels, reduction="sum")
    assert float(plain.loss(logits, labels)) == pytest.approx(float(expected), abs=1e-6)
    assert "class_weights" not in head.state_dict()  # or transformers' classes could not load it


def overflowing(text: str, tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[list[int]]:
    """The windows that a tokenizer makes by itself."""
    overlap = (max_length - 2) // 4
    encoded = tokenizer(
        text, truncation=True, max_length=max_length, stride=overlap, return_overflowing_tokens=True, padding=False
    )
    return encoded["input_ids"]


@pytest.mark.parametrize("max_length", [6, 11, 24, 128])
def test_windows_are_those_that_the_tokenizer_would_make(max_length: int, tiny_vocabulary: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_vocabulary)
    texts = [*sentences(40, seed=7), "", "the " * 70, f"{tokenizer.sep_token} {'cat ' * 50}"]
    task = replace(cat_task([SentenceRow(id="", text=text, gold="yes") for text in texts]), windows=True)
    rows = task.load(Source(), "dev").rows
    features = task.encode(rows, tokenizer, max_length)
    expected = [(row, ids) for row, text in enumerate(texts) for ids in overflowing(text, tokenizer, max_length)]
    assert [(feature.row, feature.input_ids) for feature in features] == expected
    assert not any(feature.truncated for feature in features)
    assert {feature.label for feature in features} == {1}
    assert max(Counter(feature.row for feature in features).values()) > (1 if max_length < 128 else 0)
    for feature in features:
        assert feature.token_type_ids is None or feature.token_type_ids == [0] * len(feature.input_ids)


def test_the_mean_of_the_windows_counts() -> None:
    task, rows = cat_task(), cat_rows(3)
    features = [Feature(row=row) for row in (2, 0, 0, 1, 0)]
    logits = [np.array(given, dtype=np.float32) for given in ([2, 0], [5, 1], [0, 3], [0, 1], [-2, 5])]
    answers = task.decode(logits, features, rows)
    means = [(1.0, 3.0), (0.0, 1.0), (2.0, 0.0)]
    for answer, (no, yes) in zip(answers, means, strict=True):
        assert answer.value == ("yes" if yes > no else "no")
        assert answer.probabilities == pytest.approx([1 / (1 + np.exp(yes - no)), 1 / (1 + np.exp(no - yes))])
    one = [given[:1] for given in logits]
    assert [a.value for a in length_task().decode(one, features, rows)] == [1.0, 0.0, 2.0]
