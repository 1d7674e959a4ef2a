"""Two throw-away task types, defined from scratch: the shortest example of a new one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedTokenizerBase

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.metrics.metric import Metric
from finetune.models.backbone import Backbone
from finetune.models.feature import IGNORED, Feature
from finetune.models.head import Head
from finetune.task_types.classification.task import SentenceRow, SentenceTask
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task
from support.toys import cat_rows, cat_task, sentences


@dataclass(frozen=True, kw_only=True)
class TaggedRow:
    id: str
    words: tuple[str, ...]
    gold: tuple[str, ...]


class TagHead(Head):
    """One linear layer on each token's vector."""

    inputs = frozenset({"sequence"})
    auto_class = "AutoModelForTokenClassification"

    def __init__(self, width: int, labels: Sequence[str]) -> None:
        super().__init__(labels)
        self.output = nn.Linear(width, len(labels))

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return self.output(hidden)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")


@dataclass(frozen=True, kw_only=True)
class AnimalTags(Task):
    """Throw-away: which words are animals."""

    metrics: tuple[Metric, ...] = (Metric("accuracy"),)
    labels: ClassVar[tuple[str, ...]] = ("O", "ANIMAL")

    def load(self, source: Source, split: str) -> Rows:
        animals = {"cat", "dog", "bird"}
        texts = [tuple(text.split()) for text in sentences(64, seed=3)]
        rows = [
            TaggedRow(id=str(i), words=words, gold=tuple("ANIMAL" if w in animals else "O" for w in words))
            for i, words in enumerate(texts)
        ]
        return Rows(rows=rows, origin="toy")

    def head(self, backbone: Backbone) -> TagHead:
        return TagHead(backbone.config.hidden_size, self.labels)

    def encode(self, rows: Sequence[TaggedRow], tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[Feature]:
        features, labels = [], self.labels
        for index, row in enumerate(rows):
            encoded = tokenizer(list(row.words), is_split_into_words=True, truncation=True, max_length=max_length)
            owners = encoded.word_ids()
            first = [w is not None and w not in owners[:i] for i, w in enumerate(owners)]
            label = [labels.index(row.gold[w]) if f else IGNORED for w, f in zip(owners, first, strict=True)]
            features.append(Feature(row=index, input_ids=encoded["input_ids"], label=label, note=np.flatnonzero(first)))
        return features

    def decode(self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Any]) -> list[Answer]:
        tags = [row[feature.note].argmax(-1) for row, feature in zip(logits, features, strict=True)]
        return [Answer(value=[self.labels[i] for i in row]) for row in tags]

    def labels_of(self, rows: Sequence[TaggedRow]) -> list[Answer]:
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
        features, labels = [], self.labels
        for index, row in enumerate(rows):
            words = row.text.split()
            for half in (words[: len(words) // 2], words[len(words) // 2 :]):
                ids = tokenizer(" ".join(half), truncation=True, max_length=max_length)["input_ids"]
                features.append(Feature(row=index, input_ids=ids, label=labels.index(row.gold)))
        return features

    def decode(self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Any]) -> list[Answer]:
        sums = np.zeros((len(rows), len(self.labels)))
        for row, feature in zip(logits, features, strict=True):
            sums[feature.row] += row
        return super().decode(list(sums), features[::2], rows)


def two_windows() -> TwoWindows:
    rows = [SentenceRow(id=r.id, text=f"{r.text} {r.text[:3]} {r.text[4:]}", gold=r.gold) for r in cat_rows(64)]
    toy = cat_task(rows)
    return TwoWindows(name="toy-windows", read=toy.read, labels=toy.labels, metrics=toy.metrics)


NEW_SHAPES: list[Task] = [AnimalTags(name="toy-animals"), two_windows()]
