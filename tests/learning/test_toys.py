"""Every head learns its toy."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
import transformers
from support.toys import cat_rows, cat_task, labelled_shapes
from support.training import fit

from finetune.metrics import pearson, spearman
from finetune.runs.recipe import Train
from finetune.task_types.plugins.overlapping import OverlapTask
from finetune.task_types.task import Task

OTHERS = ("toy-overlaps", "toy-intents", "toy-labels", "toy-reds", "toy-spans-2", "toy-ranking-row")  # as others learn


@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [pytest.param(task, marks=pytest.mark.nightly if task.name in OTHERS else ()) for task in labelled_shapes()],
    ids=lambda task: task.name,
)
def test_overfits_64_rows(task: Task, tiny_bert: Path) -> None:
    epochs = 80 if isinstance(task, OverlapTask) else 40  # each pair of start and end is an answer
    settings = Train(learning_rate=2e-3, epochs=epochs, batch_size=8, dropout=0.0)
    _, found, progress = fit(task, tiny_bert, settings)
    score = progress.epochs[-1].headline
    assert score > 0.98 if task.metrics[0] in (pearson, spearman) else score == 1.0
    assert len(found.answers["dev"]) == 64


def test_shuffled_labels_end_at_the_majority_class(tiny_bert: Path) -> None:
    rows = cat_rows(256)
    golds = ["yes"] * 180 + ["no"] * 76
    random.Random(0).shuffle(golds)
    train = [replace(row, text=row.text[4:], gold=gold) for row, gold in zip(rows, golds, strict=True)]
    unseen = [
        replace(row, text=row.text[4:], gold="yes" if i % 10 < 7 else "no")
        for i, row in enumerate(cat_rows(200, seed=1))
    ]
    task = cat_task(train)
    trainer, _, _ = fit(task, tiny_bert, Train(learning_rate=5e-4, epochs=2, batch_size=32))
    features = task.encode(unseen, transformers.AutoTokenizer.from_pretrained(tiny_bert), 32)
    answers = task.decode(trainer.engine.logits(features), features, unseen)
    assert task.score(answers, unseen)["accuracy"] == pytest.approx(0.7, abs=0.02)
