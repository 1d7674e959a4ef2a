"""A type of data that only tests know: a number for each word. All that it needs is here, as a plugin would have it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from finetune.data.source import Source
from finetune.metrics import Metric, pearson
from finetune.models.backbone import Backbone
from finetune.models.feature import IGNORED, Feature
from finetune.models.head import Head
from finetune.task_types import Answer, Evidence, Layout, NoRow, OwnType, Predictions, Rows, Task


@dataclass(frozen=True, kw_only=True)
class NumbersRow:
    id: str
    words: tuple[str, ...]
    gold: tuple[float, ...] | None = None

    @property
    def input(self) -> str:
        return " ".join(self.words)


class NumbersHead(Head):
    inputs = frozenset({"sequence"})
    reads = "words"
    auto_class = "AutoModelForTokenClassification"

    def __init__(self, width: int) -> None:
        super().__init__(("number",))
        self.output = nn.Linear(width, 1)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return self.output(hidden)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        there = labels != IGNORED
        return (logits.squeeze(-1)[there] - labels[there]).square().sum()


@dataclass(frozen=True, kw_only=True)
class NumbersTask(Task):
    read: Callable[[Source, str], Rows]
    metrics: tuple[Metric, ...] = (Metric("pearson"),)
    row_type = NumbersRow

    def load(self, source: Source, split: str) -> Rows:
        return self.read(source, split)

    def row(self, words: Sequence[str]) -> NumbersRow:
        return NumbersRow(id="", words=tuple(words))

    def head(self, backbone: Backbone) -> NumbersHead:
        return NumbersHead(backbone.width)

    def encode(self, rows: Sequence[NumbersRow], tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[Feature]:
        features = []
        for index, row in enumerate(rows):
            encoded = tokenizer(list(row.words), is_split_into_words=True, truncation=True, max_length=max_length)
            owners = encoded.word_ids()
            first = [owners.index(word) for word in range(len(row.words))]
            label = None if row.gold is None else list(row.gold)
            features.append(Feature(row=index, input_ids=encoded["input_ids"], label=label, reads=first))
        return features

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[NumbersRow]
    ) -> list[Answer]:
        return [Answer(value=given[:, 0].tolist()) for given in logits]

    def labels_of(self, rows: Sequence[NumbersRow]) -> list[Answer]:
        return [Answer(value=None if row.gold is None else list(row.gold)) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[NumbersRow]) -> dict[str, float]:
        given = [number for answer in answers for number in answer.value]
        return {"pearson": pearson.score([number for row in rows for number in row.gold or ()], given)}


class WordNumbers(OwnType):
    name = "word-numbers"
    task_class = NumbersTask
    label_is = (list, float)

    def find(self, evidence: Evidence) -> Layout | None:
        if not {"words", "numbers"} <= set(evidence.columns):
            return None
        return Layout(shape=self.name, text=("words",), label=("numbers",), reasons={"shape": "words and numbers"})

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> NumbersRow:
        words, cell = tuple(str(values[layout.text[0]]).split()), layout.label_in(values)
        if cell is None:
            return NumbersRow(id=name, words=words)
        numbers = tuple(map(float, str(cell).split()))
        if len(numbers) != len(words):
            raise NoRow(f"has {len(words)} words and {len(numbers)} numbers")
        return NumbersRow(id=name, words=words, gold=numbers)

    def task(self, layout: Layout, *, name: str, read: Any = None) -> NumbersTask:
        return NumbersTask(name=name, read=read)

    def predictions(self, lines: Sequence[dict[str, Any]], names: Sequence[str], task: Task | None) -> Predictions:
        errors = [float(np.abs(np.subtract(line["gold"], line["prediction"])).mean()) for line in lines]
        return Predictions(
            lines=lines, texts=[{"words": " ".join(line["words"])} for line in lines], score=np.array(errors)
        )
