"""The losses of a student, each against the formula written out, and through accumulated parts."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from finetune.training.distil.lessons import (
    TaughtFeatures,
    TaughtLosses,
    has_label,
    item_logits,
    joint_answers,
    soft_loss,
)
from scipy.special import expit, log_softmax, softmax
from support.toys import (
    cat_rows,
    cat_task,
    choice_task,
    labels_task,
    length_task,
    single_answers,
    tag_task,
    toy,
)
from support.training import Losses, build, unscored

from finetune.metrics.scores import accuracy
from finetune.models.feature import IGNORED, LABEL, TAUGHT, Feature, label_counts
from finetune.runs.recipe_tables import Distil, Train
from finetune.task_types.classification.task import SentenceTask
from finetune.task_types.parts import Teaching
from finetune.task_types.ranking.task import RankingTask
from finetune.task_types.span.task import SpanTask
from finetune.task_types.task import Task

T = 2.5
KINDS = {
    "class": lambda z, p: sum(np.sum(q * (np.log(q) - log_softmax(row / T))) for row, q in zip(z, p, strict=True)),
    "flags": lambda z, p: np.sum(
        p * np.log(p / expit(z / T)) + (1 - p) * np.log((1 - p) / (1 - expit(z / T)))
    ),
    "number": lambda z, p: np.sum((z - p) ** 2) / T**2,
}  # fmt: skip
STEPS = toy(
    SentenceTask,
    [replace(row, gold="123"[index % 3]) for index, row in enumerate(cat_rows(64))],
    name="toy-steps", labels=tuple("123"), order=tuple("123"), ordinal=True, metrics=(accuracy,),
)  # fmt: skip
TOYS: dict[str, Task] = {
    "labels": cat_task(), "numbers": length_task(), "several": labels_task(), "tags": tag_task(),
    "choices": choice_task(), "steps": STEPS,
}  # fmt: skip


@pytest.mark.parametrize("learns", KINDS)
def test_a_loss_is_that_of_its_formula(learns: str) -> None:
    generator = np.random.default_rng(0)
    logits, theirs = (3 * generator.standard_normal((4, 3)) for _ in range(2))
    wanted = {"class": softmax(theirs / T, -1), "flags": expit(theirs / T), "number": theirs}[learns]
    expected = T**2 * KINDS[learns](logits, wanted)
    given = torch.tensor(logits).reshape(2, 2, 3), torch.tensor(wanted).reshape(2, 2, 3)
    assert float(soft_loss(*given, learns, T)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("learns", KINDS)
def test_equal_answers_cost_nothing_and_missing_ones_neither(learns: str) -> None:
    logits = torch.randn(1, 2, 3)
    wanted = {"class": (logits / T).softmax(-1), "flags": (logits / T).sigmoid(), "number": logits}[learns].clone()
    assert float(soft_loss(logits, wanted, learns, T)) == pytest.approx(0, abs=1e-5)
    wanted[0, 1] = IGNORED
    broken = logits.clone()
    broken[0, 1] = -math.inf  # as at padding
    broken.requires_grad_()
    loss = soft_loss(broken, wanted, learns, T)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(0, abs=1e-5)
    assert broken.grad is not None
    assert torch.isfinite(broken.grad).all()


def test_rows_without_a_label_are_found_in_every_form() -> None:
    assert has_label(torch.tensor([1, IGNORED])).tolist() == [True, False]
    assert has_label(torch.tensor([-100.0, math.nan])).tolist() == [True, False]
    assert has_label(torch.tensor([[IGNORED, 2], [IGNORED, IGNORED]])).tolist() == [True, False]


def lesson(task: Task, folder: Path, settings: Train, distil: Distil) -> tuple[list[float], TaughtFeatures]:
    """The losses of training on half of a toy's rows with labels, and on the rest without."""
    losses = Losses()
    trainer, features = build(task, folder, settings, watch=losses)
    logits = [3 * each + 1 for each in trainer.engine.logits(features)]
    assert task.teach is not None
    half = len(features) // 2
    first = features[half].row
    text = [replace(each, row=each.row - first, label=None) for each in features[half:]]
    answers = item_logits(task.teach, logits, features)
    given = TaughtFeatures(task.teach, features[:half], text, answers, rows=first, temperature=distil.temperature)
    trainer.objective = TaughtLosses(head=trainer.model.head, learns=task.teach.learns, settings=distil)
    trainer.fit(given, unscored)
    return losses.values, given


@pytest.mark.parametrize("kind", TOYS)
def test_parts_of_a_batch_learn_what_the_whole_learns(kind: str, tiny_bert: Path) -> None:
    settings = Train(dropout=0.0, epochs=1, batch_size=16, learning_rate=1e-3)
    whole, given = lesson(TOYS[kind], tiny_bert, settings, Distil(teacher="any"))
    parts, _ = lesson(TOYS[kind], tiny_bert, settings.model_copy(update={"accumulation": 5}), Distil(teacher="any"))
    assert parts == pytest.approx(whole, rel=1e-3, abs=1e-5)
    assert whole[-1] > 0
    counts = label_counts(given[:])
    assert counts[TAUGHT] >= counts[LABEL] > 0


def test_rows_and_words_can_be_taught_and_tokens_not() -> None:
    taught = [task for task in single_answers() if not isinstance(task, RankingTask | SpanTask)]
    assert all(task.teach for task in taught)
    assert {type(task) for task in TOYS.values()} == {type(task) for task in taught}
    assert not any(task.teach for task in single_answers() if isinstance(task, SpanTask))


def test_answers_of_several_teachers_are_their_mean_where_all_have_one() -> None:
    one, other = {(0, 0): np.log([0.9, 0.1]), (1, 0): np.zeros(2)}, {(0, 0): np.log([0.5, 0.5])}
    joint = joint_answers([one, other], "class")
    assert list(joint) == [(0, 0)]
    assert np.exp(joint[0, 0]) == pytest.approx([0.7, 0.3])
    assert joint_answers([one], "class") == one
    assert expit(joint_answers([{(0, 0): np.array([-1.0])}, {(0, 0): np.array([1.0])}], "flags")[0, 0]) == [0.5]


def test_a_word_without_an_answer_is_not_learned() -> None:
    teach = Teaching(learns="class", labels=("O", "B-A"), by_word=True)
    note = np.array([[0, 0], [1, 2]])  # rows after the feature's own, and words
    features = [Feature(row=3, note=note, label=[0, 1], input_ids=[5, 6])]
    answers = item_logits(teach, [np.array([[2.0, 1.0], [0.5, 0.5]])], features)
    assert list(answers) == [(3, 0), (4, 2)]
    lacking = {place: logits for place, logits in answers.items() if place == (3, 0)}
    target = TaughtFeatures(teach, features, [], lacking, rows=9, temperature=1.0)[0].label[TAUGHT]
    assert target.tolist() == [pytest.approx(softmax([2.0, 1.0])), [IGNORED, IGNORED]]
