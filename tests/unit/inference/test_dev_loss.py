"""The loss on dev, from logits that were computed for the scores."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.toys import labelled_shapes
from support.training import PLAIN, build

from finetune.models.feature import label_counts
from finetune.task_types.task import Task


@pytest.mark.parametrize("task", labelled_shapes(), ids=lambda task: task.name)
def test_it_is_the_training_loss_of_the_same_features(task: Task, tiny_bert: Path) -> None:
    trainer, features = build(task, tiny_bert, PLAIN)
    engine, features = trainer.engine, features[:300]
    found = engine.loss(engine.logits(features), features)
    totals = Counter[str]()
    with torch.inference_mode():
        for feature in features:
            batch = engine.batch([feature])
            totals.update(engine.model.head.losses(engine.model(*batch.inputs()).float(), batch.labels))
    counts = label_counts(features)
    assert found == pytest.approx(sum(float(total) / counts[name] for name, total in totals.items()), rel=1e-3)


def test_without_labels_or_finite_logits_there_is_none(tiny_bert: Path) -> None:
    trainer, features = build(labelled_shapes()[0], tiny_bert, PLAIN)
    engine, some = trainer.engine, features[:4]
    logits = engine.logits(some)
    assert engine.loss(logits, [replace(feature, label=None) for feature in some]) is None
    assert engine.loss([each * float("inf") for each in logits], some) is None
