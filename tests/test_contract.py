"""The contract that every task of every shape goes through, and the proof that new shapes fit it.

Two throw-away tasks, defined here alone, train without a line in run.py or in the trainer that knows them: one that
tags words, and one that makes two features of a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from toys import CPU, cat_rows, cat_task, fit, length_task, sentences
from transformers import AutoModelForTokenClassification, AutoTokenizer, PreTrainedTokenizerBase

from finetune import baselines as methods
from finetune.features import IGNORED, Feature
from finetune.heads.sentence import SentenceRow, SentenceTask
from finetune.model import Backbone, Head, Model, build_model, load_backbone, load_trained, save_checkpoint
from finetune.recipe import Train
from finetune.source import Source
from finetune.task import Answer, Rows, Task, available


@dataclass(frozen=True, kw_only=True)
class TaggedRow:
    id: str
    words: tuple[str, ...]
    gold: tuple[str, ...]


class TagHead(Head):
    """One linear layer on each token's vector."""

    reads = "sequence"
    auto_class = "AutoModelForTokenClassification"

    def __init__(self, width: int, labels: Sequence[str]) -> None:
        super().__init__(labels)
        self.output = nn.Linear(width, len(labels))

    def forward(self, hidden: Tensor) -> Tensor:
        return self.output(hidden)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")


@dataclass(frozen=True, kw_only=True)
class AnimalTags(Task):
    """Throw-away: which words are animals."""

    metrics: tuple[str, ...] = ("accuracy",)
    labels: ClassVar[tuple[str, ...]] = ("O", "ANIMAL")

    def load(self, source: Source, split: str) -> Rows:
        animals = {"cat", "dog", "bird"}
        texts = [tuple(text.split()) for text in sentences(64, seed=3)]
        rows = [
            TaggedRow(id=str(i), words=words, gold=tuple("ANIMAL" if w in animals else "O" for w in words))
            for i, words in enumerate(texts)
        ]
        return Rows(rows=rows, origin="toy")

    def encode(self, rows: Sequence[TaggedRow], tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[Feature]:
        features = []
        for index, row in enumerate(rows):
            encoded = tokenizer(list(row.words), is_split_into_words=True, truncation=True, max_length=max_length)
            owners = encoded.word_ids()
            first = [w is not None and w not in owners[:i] for i, w in enumerate(owners)]
            label = [self.labels.index(row.gold[w]) if f else IGNORED for w, f in zip(owners, first, strict=True)]
            features.append(Feature(row=index, input_ids=encoded["input_ids"], label=label, note=np.flatnonzero(first)))
        return features

    def head(self, backbone: Backbone) -> TagHead:
        return TagHead(backbone.config.hidden_size, self.labels)

    def decode(self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Any]) -> list[Answer]:
        tags = [row[feature.note].argmax(-1) for row, feature in zip(logits, features, strict=True)]
        return [Answer(value=[self.labels[i] for i in row]) for row in tags]

    def gold(self, rows: Sequence[TaggedRow]) -> list[Answer]:
        return [Answer(value=list(row.gold)) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[TaggedRow]) -> dict[str, float]:
        pairs = [
            pair for answer, row in zip(answers, rows, strict=True) for pair in zip(answer.value, row.gold, strict=True)
        ]
        return {"accuracy": sum(a == b for a, b in pairs) / len(pairs)}


@dataclass(frozen=True, kw_only=True)
class TwoWindows(SentenceTask):
    """Throw-away: each row gives two features, its halves, whose logits are added up."""

    def encode(self, rows: Sequence[SentenceRow], tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[Feature]:
        features = []
        for index, row in enumerate(rows):
            words = row.text.split()
            for half in (words[: len(words) // 2], words[len(words) // 2 :]):
                ids = tokenizer(" ".join(half), truncation=True, max_length=max_length)["input_ids"]
                features.append(Feature(row=index, input_ids=ids, label=self.labels.index(row.gold)))
        return features

    def decode(self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Any]) -> list[Answer]:
        sums = np.zeros((len(rows), len(self.labels)))
        for row, feature in zip(logits, features, strict=True):
            sums[feature.row] += row
        return super().decode(list(sums), features, rows)


def two_windows() -> TwoWindows:
    rows = [SentenceRow(id=r.id, text=f"{r.text} {r.text[:3]} {r.text[4:]}", gold=r.gold) for r in cat_rows(64)]
    toy = cat_task(rows)
    return TwoWindows(name="toy-windows", read=toy.read, labels=toy.labels, metrics=toy.metrics, scorers=toy.scorers)


TOYS: list[Task] = [cat_task(), length_task(), AnimalTags(name="toy-tags"), two_windows()]


def some_rows(task: Task) -> Sequence[Any]:
    """Rows of a task: a toy's own, else made up in its shape."""
    if task.name.startswith("toy"):
        return task.load(Source(), "train").rows
    assert isinstance(task, SentenceTask), f"give {task.name}'s shape rows here"
    pairs = sentences(24, seed=5)
    golds: list[Any] = list(task.labels) or [0.5 * i for i in range(6)]
    return [
        SentenceRow(
            id=str(i), text=text, pair=text if task.name not in ("sst2", "cola") else None, gold=golds[i % len(golds)]
        )
        for i, text in enumerate(pairs)
    ]


ALL = [*available().values(), *TOYS]


def test_the_contract_saw_every_task() -> None:
    shipped = {"cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli", "ax", "paraphrase"}
    assert {task.name for task in ALL} == shipped | {task.name for task in TOYS}
    assert len(ALL) == 15


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_contract(task: Task, tiny_encoder: Path, tmp_path: Path) -> None:
    rows = some_rows(task)
    words = {"add_prefix_space": True} if isinstance(task, AnimalTags) else {}
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder, **words)
    features = task.encode(rows, tokenizer, 16)
    assert sorted({feature.row for feature in features}) == list(range(len(rows)))
    assert max(map(len, features)) <= 16
    assert all(feature.label is not None for feature in features)

    perfect = task.score(task.gold(rows), rows)
    assert set(perfect) == set(task.metrics)
    assert all(score == pytest.approx(1.0) for score in perfect.values())

    model, _ = build_model(tiny_encoder, task.head, init_seed=0, device=CPU)
    model.eval()
    with torch.no_grad():
        logits = [
            model(torch.tensor([f.input_ids]), torch.ones(1, len(f), dtype=torch.long))[0].numpy() for f in features
        ]
    answers = task.decode(logits, features, rows)
    assert len(answers) == len(rows)
    assert set(task.score(answers, rows)) == set(task.metrics)
    for given in task.baselines(rows, rows).values():
        assert set(task.score(given, rows)) == set(task.metrics)

    save_checkpoint(model, tmp_path, tokenizer, task=task.name, max_length=16, precision="fp32")
    again = load_trained(tmp_path, task.head).eval()
    with torch.no_grad():
        mask = torch.ones(1, len(features[0]), dtype=torch.long)
        assert np.allclose(again(torch.tensor([features[0].input_ids]), mask)[0].numpy(), logits[0], atol=1e-5)


@pytest.mark.parametrize("task", TOYS[2:], ids=lambda task: task.name)
def test_new_shapes_train_without_a_line_in_the_trainer(task: Task, tiny_bert: Path) -> None:
    _, _, progress = fit(task, tiny_bert, Train(learning_rate=2e-3, epochs=15, batch_size=8, dropout=0.0))
    assert progress.epochs[0]["loss"] > 2 * progress.epochs[-1]["loss"]
    assert progress.epochs[-1]["headline"] > 0.97


def test_a_sequence_head_leaves_the_pooler_out(tiny_bert: Path, tmp_path: Path) -> None:
    """Weights that no loss reaches stop training on several processes."""
    backbone, _ = load_backbone(tiny_bert)
    model = Model(backbone, TOYS[2].head(backbone))
    assert not any("pooler" in name for name, _ in model.named_parameters())
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    save_checkpoint(model, tmp_path, tokenizer, task="toy-tags", max_length=16, precision="fp32")
    _, info = AutoModelForTokenClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]


def test_baselines_learn_what_words_give_away() -> None:
    rows = cat_rows(200)
    texts, golds = [row.texts for row in rows], [str(row.gold) for row in rows]
    answers, probabilities, classes = methods.tfidf_classify(texts, golds, [("cat",), ("dog",)])
    assert answers == ["yes", "no"]
    assert classes == ["no", "yes"]
    assert probabilities.sum(1) == pytest.approx([1, 1])
    assert methods.majority(["b", "a", "b", "a"], 2) == ["a", "a"]
    values = [float(gold == "yes") for gold in golds]
    low, high = methods.tfidf_regress([(t, "cat cat") for (t,) in texts], values, [("dog", "cat"), ("cat", "cat")])
    assert 0 <= low < high <= 1
