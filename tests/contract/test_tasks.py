"""The contract that every task of every shape goes through, and the proof that new shapes fit it.

Two throw-away tasks, defined here alone, train without a line in run.py or in the trainer that knows them: one that
tags words, and one that makes two features of a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.new_types import NEW_SHAPES
from support.pairs import UNABLE, each_task_and_family
from support.paths import ROOT
from support.relations import marked_task
from support.toys import (
    cat_task,
    choice_task,
    every_shape,
    late_task,
    length_task,
    sentences,
    span_task,
    tag_task,
)
from support.training import CPU, fit
from transformers import AutoTokenizer

from finetune.data.documents import Document
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.models.device import build_accelerator
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead
from finetune.models.model_folder import load_trained
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import add_tokens
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.choice.task import ChoiceTask
from finetune.task_types.classification.task import MultiLabelTask, SentenceRow, SentenceTask
from finetune.task_types.declared import declared_names, option
from finetune.task_types.options import configured, option_values, task_options
from finetune.task_types.own_data import every_option
from finetune.task_types.parts import Answer
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.registry import available
from finetune.task_types.span.task import SpanTask
from finetune.task_types.tagging.task import TaggingTask
from finetune.task_types.task import Task
from finetune.training.evaluation import official_scores

TOYS: list[Task] = [
    *every_shape(),
    tag_task(context="document"),
    late_task(),
    marked_task(),
]

LENGTH = 24


def some_rows(task: Task) -> Sequence[Any]:
    """Rows of a task: a toy's own, else made up in its shape."""
    if task.name.startswith("toy"):
        count = 48 if getattr(task, "context", "") == "document" else 24  # of documents, one in two becomes features
        return task.load(Source(), "train").rows[:count]
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
    if isinstance(task, TextTask):
        return [Document(str(i), (text, text)) for i, text in enumerate(sentences(24, seed=5))]
    assert isinstance(task, SentenceTask), f"give {task.name}'s shape rows here"
    pairs = sentences(24, seed=5)
    if task.spans:
        pairs = [f"{text} {' and '.join(f'{one}cat{one[0]}/{one[1:]}' for one in task.spans)}" for text in pairs]
    golds: list[Any] = list(task.labels) or [float(i) for i in range(6)]
    return [
        SentenceRow(id=str(i), text=text, pair=None if task.spans else text, gold=golds[i % len(golds)])
        for i, text in enumerate(pairs)
    ]


SHIPPED = [*available().values(), *TOYS]


def test_the_contract_saw_every_task() -> None:
    files = sorted(file.stem for file in (ROOT / "tasks").glob("[a-z]*.py"))
    shipped = {file: [task.name for task in import_module(f"finetune.tasks.{file}").TASKS] for file in files}
    assert all(shipped.values())
    assert {task.name for task in SHIPPED} >= {name for names in shipped.values() for name in names}
    assert {type(task) for task in SHIPPED} == {type(task) for task in TOYS}


@pytest.mark.parametrize("task", available().values(), ids=lambda task: task.name)
def test_contract_of_every_task(task: Task, tiny_bert: Path, tmp_path: Path) -> None:
    assert_contract(task, tiny_bert, tmp_path)


@each_task_and_family(TOYS)
def test_contract_of_every_shape_and_family(task: Task, tiny_encoder: Path, tmp_path: Path) -> None:
    assert_contract(task, tiny_encoder, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("task", [task for task in TOYS if task.name in UNABLE], ids=lambda task: task.name)
def test_a_family_that_cannot_have_a_shape_refuses_it(task: Task, request: pytest.FixtureRequest) -> None:
    for family in UNABLE[task.name]:
        encoder = request.getfixturevalue(f"tiny_{family.replace('-', '_')}")
        with pytest.raises(UserError, match=r"an encoder that|one that has|one of the types"):
            build_model(encoder, task.head, Recipe(task=task.name), device=CPU)


@pytest.mark.parametrize("task", NEW_SHAPES, ids=lambda task: task.name)
def test_contract_of_new_shapes(task: Task, tiny_bert: Path, tmp_path: Path) -> None:
    assert_contract(task, tiny_bert, tmp_path)


def assert_contract(task: Task, encoder: Path, folder: Path) -> None:
    rows = some_rows(task)
    tokenizer, tokens = AutoTokenizer.from_pretrained(encoder), task.new_tokens(rows)
    add_tokens(tokenizer, tokens)
    features = task.encode(rows, tokenizer, LENGTH)
    owners = {feature.row for feature in features}
    assert owners == set(range(len(rows))) or (getattr(task, "context", "") == "document" and len(owners) > 20)
    assert max(len(sequence.input_ids) for f in features for sequence in f.choices or (f,)) <= LENGTH
    assert all(feature.label is not None for feature in features)

    perfect = task.score(task.labels_of(rows), rows)
    assert set(perfect) == set(task.metric_names)
    groups = {label.removeprefix("B-") for row in rows for label in row.gold} if in_groups(task) else set()
    there = {name: score for name, score in perfect.items() if "/" not in name or name.rsplit("/", 1)[0] in groups}
    assert task.metric_names[0] in there
    assert all(score == pytest.approx(1.0) for score in there.values())

    model, _ = build_model(encoder, task.head, Recipe(task="any", seed=0), device=CPU, tokens=tokens)
    logits = logits_of(model, features, tokenizer.pad_token_id)
    answers = task.decode(logits, features, rows)
    assert len(answers) == len(rows)
    assert set(task.score(answers, rows)) == set(task.metric_names)
    for given in task.baselines(rows, rows).values():
        assert set(task.score(given, rows)) == set(task.metric_names)

    assert configured(task, option_values(task)) == task
    chosen = configured(task, task.tune(answers, rows))
    assert len(chosen.decode(logits, features, rows)) == len(rows)

    save_checkpoint(model, folder, tokenizer, {"task": task.name})
    (again,) = logits_of(load_trained(folder, task.head), features[:1], tokenizer.pad_token_id)
    assert np.allclose(again, logits[0], atol=1e-4)


def logits_of(model: EncoderWithHead, features: Sequence[Feature], pad_id: int) -> list[np.ndarray]:
    """What the task decodes, as in a run."""
    engine = Engine(model=model, accelerator=build_accelerator(CPU, "fp32"), pad_id=pad_id, watch=unwatched)
    return engine.logits(features)


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
    tokenizer, tokens = AutoTokenizer.from_pretrained(tiny_bert), task.new_tokens(rows)
    add_tokens(tokenizer, tokens)
    features = task.encode(rows, tokenizer, LENGTH)
    model, _ = build_model(tiny_bert, task.head, Recipe(task="any", seed=0), device=CPU, tokens=tokens)
    logits = logits_of(model, features, tokenizer.pad_token_id)
    answers = task.decode(logits, features, rows)
    assert official_scores(task, answers, rows) == task.score(answers, rows)


def in_groups(task: Task) -> bool:
    """Whether a task is scored by label, of which some may have no gold."""
    return isinstance(task, TaggingTask | MultiLabelTask)


@dataclass(frozen=True, kw_only=True)
class FoldedReader:
    """A reader with an option."""

    fold: int = option(0, "which fold is read")

    def __call__(self, source: Source, split: str) -> Rows:
        return Rows(rows=[], origin=f"fold {self.fold}")


@pytest.mark.parametrize("task", every_shape(), ids=lambda task: task.name)
def test_the_options_of_a_task_are_those_of_its_shape_and_of_its_reader(task: Task) -> None:
    folded = replace(task, read=FoldedReader())
    assert task_options(folded) == [*task_options(task), "fold"]
    assert set(task_options(task)) <= set(declared_names(type(task))) <= set(every_option())
    assert task_options(replace(folded, name="other")) == task_options(folded)
    values = {"fold": 1, **{name: value for name, value in option_values(task).items() if value is not None}}
    assert option_values(configured(folded, values)) == {**option_values(task), "fold": 1}


@pytest.mark.slow
@pytest.mark.parametrize("task", NEW_SHAPES, ids=lambda task: task.name)
def test_new_shapes_train_without_a_line_in_the_trainer(task: Task, tiny_bert: Path) -> None:
    _, _, progress = fit(task, tiny_bert, Train(learning_rate=2e-3, epochs=15, batch_size=8, dropout=0.0))
    assert progress.epochs[0].loss > 2 * progress.epochs[-1].loss
    assert progress.epochs[-1].headline > 0.97
