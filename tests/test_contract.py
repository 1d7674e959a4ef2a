"""The contract that every task of every shape goes through, and the proof that new shapes fit it.

Two throw-away tasks, defined here alone, train without a line in run.py or in the trainer that knows them: one that
tags words, and one that makes two features of a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from toys import (
    CPU,
    cat_rows,
    cat_task,
    choice_task,
    every_shape,
    fit,
    late_task,
    length_task,
    sentences,
    span_task,
    tag_task,
)
from transformers import AutoModelForTokenClassification, AutoTokenizer, PreTrainedTokenizerBase

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.metrics.metric import Metric
from finetune.models.backbone import Backbone, Head, Model
from finetune.models.batch import collate
from finetune.models.feature import IGNORED, Feature
from finetune.models.saving import build_model, load_backbone, load_trained, save_checkpoint
from finetune.runs.recipe import Recipe, Train
from finetune.task_types import baselines as methods
from finetune.task_types.choice.task import ChoiceTask
from finetune.task_types.multilabel.task import MultiLabelTask
from finetune.task_types.options import configured, option_values
from finetune.task_types.own_data import every_option
from finetune.task_types.registry import available
from finetune.task_types.sentence.task import SentenceRow, SentenceTask
from finetune.task_types.span.task import SpanTask
from finetune.task_types.tagging.task import TaggingTask
from finetune.task_types.task import Answer, Task
from finetune.training.evaluation import Evaluated, Evaluation


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
        return super().decode(list(sums), features[::2], rows)


def two_windows() -> TwoWindows:
    rows = [SentenceRow(id=r.id, text=f"{r.text} {r.text[:3]} {r.text[4:]}", gold=r.gold) for r in cat_rows(64)]
    toy = cat_task(rows)
    return TwoWindows(name="toy-windows", read=toy.read, labels=toy.labels, metrics=toy.metrics)


NEW_SHAPES: list[Task] = [AnimalTags(name="toy-animals"), two_windows()]
TOYS: list[Task] = [*every_shape(), tag_task(context="document"), late_task()]
LENGTH = 24


def some_rows(task: Task) -> Sequence[Any]:
    """Rows of a task: a toy's own, else made up in its shape."""
    if task.name.startswith("toy"):
        return task.load(Source(), "train").rows
    if isinstance(task, TaggingTask):
        kinds = dict(zip(("ANIMAL", "PLACE"), task.types, strict=False))
        return [
            replace(row, gold=tuple(tag if tag == "O" else tag[:2] + kinds[tag[2:]] for tag in row.gold))
            for row in tag_task().load(Source(), "train").rows
        ]
    if isinstance(task, SpanTask):
        return span_task(unanswerable=task.unanswerable).load(Source(), "train").rows
    if isinstance(task, ChoiceTask):
        return choice_task().load(Source(), "train").rows
    assert isinstance(task, SentenceTask), f"give {task.name}'s shape rows here"
    pairs = sentences(24, seed=5)
    golds: list[Any] = list(task.labels) or [0.5 * i for i in range(6)]
    return [
        SentenceRow(
            id=str(i), text=text, pair=text if task.name not in ("sst2", "cola") else None, gold=golds[i % len(golds)]
        )
        for i, text in enumerate(pairs)
    ]


SHIPPED = [*available().values(), *TOYS]


def test_the_contract_saw_every_task() -> None:
    shipped = {"cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli", "ax", "paraphrase"}
    shipped |= {"conll-2003", "wnut-17", "squad-v1", "squad-v2", "swag", "codah"}
    assert {task.name for task in SHIPPED} == shipped | {task.name for task in TOYS}
    assert len(SHIPPED) == 26


@pytest.mark.parametrize("task", SHIPPED, ids=lambda task: task.name)
def test_contract_of_every_task(task: Task, tiny_bert: Path, tmp_path: Path) -> None:
    keep_the_contract(task, tiny_bert, tmp_path)


@pytest.mark.parametrize("task", TOYS, ids=lambda task: task.name)
def test_contract_of_every_shape_and_family(task: Task, tiny_encoder: Path, tmp_path: Path) -> None:
    keep_the_contract(task, tiny_encoder, tmp_path)


@pytest.mark.parametrize("task", NEW_SHAPES, ids=lambda task: task.name)
def test_contract_of_new_shapes(task: Task, tiny_bert: Path, tmp_path: Path) -> None:
    keep_the_contract(task, tiny_bert, tmp_path)


def keep_the_contract(task: Task, encoder: Path, folder: Path) -> None:
    rows = some_rows(task)
    words = {"add_prefix_space": True} if isinstance(task, AnimalTags) else {}
    tokenizer = AutoTokenizer.from_pretrained(encoder, **words)
    features = task.encode(rows, tokenizer, LENGTH)
    owners = {feature.row for feature in features}
    assert owners == set(range(len(rows))) or (getattr(task, "context", "") == "document" and len(owners) > 20)
    assert max(len(sequence.input_ids) for f in features for sequence in f.choices or (f,)) <= LENGTH
    assert all(feature.label is not None for feature in features)
    assert all(task.shown_label(f, tokenizer.convert_ids_to_tokens(list(f.input_ids))) for f in features[:3])

    perfect = task.score(task.gold(rows), rows)
    assert set(perfect) == set(task.metric_names)
    groups = {label.removeprefix("B-") for row in rows for label in row.gold} if in_groups(task) else set()
    there = {name: score for name, score in perfect.items() if "/" not in name or name.rsplit("/", 1)[0] in groups}
    assert task.metric_names[0] in there
    assert all(score == pytest.approx(1.0) for score in there.values())

    model, _ = build_model(encoder, task.head, Recipe(task="any", seed=0), device=CPU)
    model.eval()
    with torch.no_grad():
        logits = [model(*collate([f], pad_id=tokenizer.pad_token_id).inputs())[0].numpy() for f in features]
    answers = task.decode(logits, features, rows)
    assert len(answers) == len(rows)
    assert set(task.score(answers, rows)) == set(task.metric_names)
    for given in task.baselines(rows, rows).values():
        assert set(task.score(given, rows)) == set(task.metric_names)

    assert configured(task, option_values(task)) == task
    chosen = configured(task, task.calibrate(answers, rows))
    assert len(chosen.decode(logits, features, rows)) == len(rows)

    save_checkpoint(model, folder, tokenizer, {"task": task.name})
    again = load_trained(folder, task.head).eval()
    with torch.no_grad():
        inputs = collate(features[:1], pad_id=tokenizer.pad_token_id).inputs()
        assert np.allclose(again(*inputs)[0].numpy(), logits[0], atol=1e-5)


@dataclass(frozen=True, kw_only=True)
class Confident(SentenceTask):
    """Throw-away: scored by how probable the gold is, which the answer's value alone does not tell."""

    def score(self, answers: Sequence[Answer], rows: Sequence[SentenceRow]) -> dict[str, float]:
        chances = [dict(zip(self.labels, answer.probabilities or (), strict=True)) for answer in answers]
        return {"accuracy": float(np.mean([chance[row.gold] for chance, row in zip(chances, rows, strict=True)]))}


def confident() -> Confident:
    toy = cat_task()
    return Confident(name="toy-confident", read=toy.read, labels=toy.labels, metrics=toy.metrics)


def whole_numbers() -> SentenceTask:
    """Regression on labels that are whole numbers."""
    rows = [replace(row, gold=int(row.gold)) for row in length_task().load(Source(), "dev").rows]
    return replace(length_task(), name="toy-whole", read=lambda source, split: Rows(rows=rows, origin="toy"))


@pytest.mark.parametrize("task", [*TOYS, *NEW_SHAPES, confident(), whole_numbers()], ids=lambda task: task.name)
def test_the_final_scores_are_the_tasks_own(task: Task, tiny_bert: Path) -> None:
    """The values go through a library's metric, which must not change their type."""
    rows = task.load(Source(), "dev").rows
    words = {"add_prefix_space": True} if isinstance(task, AnimalTags) else {}
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert, **words)
    features = task.encode(rows, tokenizer, LENGTH)
    model, _ = build_model(tiny_bert, task.head, Recipe(task="any", seed=0), device=CPU)
    with torch.no_grad():
        logits = [model.eval()(*collate([f], pad_id=tokenizer.pad_token_id).inputs())[0].numpy() for f in features]
    answers = task.decode(logits, features, rows)
    scores = {"dev": task.score(answers, rows)}
    found = Evaluated(task=task, answers={"dev": answers}, scores=scores, chosen={})
    final = Evaluation(task=task, rows={"dev": rows}, features={"dev": features}).official_scores(found)
    assert final == scores


def in_groups(task: Task) -> bool:
    """Whether a task is scored by group, of which some may have no gold."""
    return isinstance(task, TaggingTask | MultiLabelTask)


@dataclass(frozen=True, kw_only=True)
class FoldedReader:
    """A reader with an option."""

    fold: int = 0

    def __call__(self, source: Source, split: str) -> Rows:
        return Rows(rows=[], origin=f"fold {self.fold}")


@pytest.mark.parametrize("task", every_shape(), ids=lambda task: task.name)
def test_the_options_of_a_task_are_those_of_its_shape_and_of_its_reader(task: Task) -> None:
    folded = replace(task, read=FoldedReader(), options=("fold",))  # type: ignore[call-arg]
    assert folded.options == (*task.options, "fold")
    assert set(task.options) <= set(type(task).own_options) <= set(every_option())
    assert replace(folded, name="other").options == folded.options
    values = {"fold": 1, **{name: value for name, value in option_values(task).items() if value is not None}}
    assert option_values(configured(folded, values)) == {**option_values(task), "fold": 1}


@pytest.mark.parametrize("task", NEW_SHAPES, ids=lambda task: task.name)
def test_new_shapes_train_without_a_line_in_the_trainer(task: Task, tiny_bert: Path) -> None:
    _, _, progress = fit(task, tiny_bert, Train(learning_rate=2e-3, epochs=15, batch_size=8, dropout=0.0))
    assert progress.epochs[0]["loss"] > 2 * progress.epochs[-1]["loss"]
    assert progress.epochs[-1]["headline"] > 0.97


def test_a_sequence_head_leaves_the_pooler_out(tiny_bert: Path, tmp_path: Path) -> None:
    """Weights that no loss reaches stop training on several processes."""
    backbone, _ = load_backbone(tiny_bert, Recipe(task="any"))
    model = Model(backbone, NEW_SHAPES[0].head(backbone))
    assert not any("pooler" in name for name, _ in model.named_parameters())
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    save_checkpoint(model, tmp_path, tokenizer, {})
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
