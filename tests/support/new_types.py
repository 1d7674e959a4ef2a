"""Two throw-away task types: numbers of words, as a plugin would define them, and a row that gives two features."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from finetune.models.feature import Feature
from finetune.task_types.classification.task import SentenceRow, SentenceTask
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task
from support.toys import cat_rows, cat_task, sentences, toy
from support.word_numbers import NumbersRow, NumbersTask


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
    like = cat_task(rows)
    return TwoWindows(name="toy-windows", read=like.read, labels=like.labels, metrics=like.metrics)


def animal_numbers() -> NumbersTask:
    """Which words are animals, as numbers."""
    rows = []
    for index, text in enumerate(sentences(64, seed=3)):
        words = tuple(text.split())
        gold = tuple(float(word in ("cat", "dog", "bird")) for word in words)
        rows.append(NumbersRow(id=str(index), words=words, gold=gold))
    return toy(NumbersTask, rows, name="toy-animals")


NEW_SHAPES: list[Task] = [animal_numbers(), two_windows()]
