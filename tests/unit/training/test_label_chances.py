"""The probabilities of training rows' labels, recorded by the training forward pass."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.toys import cat_rows, cat_task, labelled_shapes
from support.training import StopsAfter, build, unscored

from finetune.data.source import Source
from finetune.models.feature import IGNORED, LABEL
from finetune.runs.events import unwatched
from finetune.runs.interrupts import Interrupted
from finetune.runs.recipe_tables import Train
from finetune.runs.training_rows import read_training_rows, write_training_rows
from finetune.task_types.span.head import SpanHead
from finetune.task_types.tagging.head import TaggingHead
from finetune.task_types.task import Task
from finetune.training.checkpoints import Progress

TWO_EPOCHS = Train(epochs=2, batch_size=16, learning_rate=2e-3, dropout=0.0)


def recorded(task: Task, folder: Path, settings: Train = TWO_EPOCHS) -> list[torch.Tensor]:
    """Those of each epoch `(rows,)`."""
    trainer, features = build(task, folder, settings, max_length=48)
    trainer.rows = task.load(Source(), "train").rows
    progress, _ = trainer.fit(features, unscored)
    return progress.chances


@pytest.mark.parametrize("task", labelled_shapes(), ids=lambda task: task.name)
def test_each_label_has_a_probability_in_each_epoch(tiny_bert: Path, task: Task) -> None:
    """Numbers have none."""
    rows = task.load(Source(), "train").rows
    found = recorded(task.with_training_statistics(rows), tiny_bert)
    if any(isinstance(label.value, float) for label in task.scoring.labels(rows)):
        assert not found
        return
    assert [one.shape for one in found] == [(len(rows),)] * 2
    assert all(((one > 0) & (one <= 1)).all() for one in found)


def test_parts_of_a_batch_see_the_same(tiny_bert: Path) -> None:
    whole = recorded(cat_task(), tiny_bert)
    parts = recorded(cat_task(), tiny_bert, TWO_EPOCHS.model_copy(update={"accumulation": 4}))
    assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(whole, parts, strict=True))


def test_what_was_seen_before_an_interruption_is_kept(tiny_bert: Path, tmp_path: Path) -> None:
    settings = TWO_EPOCHS.model_copy(update={"epochs": 3})
    whole, second = recorded(cat_task(), tiny_bert, settings), Progress()
    for watch in (StopsAfter(1), unwatched):
        trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path, max_length=48, watch=watch)
        trainer.rows = cat_rows(64)
        try:
            second, _ = trainer.fit(features, unscored)
        except Interrupted:
            continue
    assert all(map(torch.equal, second.chances, whole))


def test_wrong_labels_are_believed_least(tiny_bert: Path, tmp_path: Path) -> None:
    """Of 64 rows with two wrong labels: in the file by confidence."""
    rows, other = cat_rows(64), {"yes": "no", "no": "yes"}
    turned = [replace(row, gold=other[str(row.gold)]) if number in (5, 40) else row for number, row in enumerate(rows)]
    found = recorded(cat_task(turned), tiny_bert, TWO_EPOCHS.model_copy(update={"epochs": 6}))
    file, texts = tmp_path / "training-rows.parquet", [row.text for row in turned]
    chances = np.stack([one.numpy() for one in found], axis=1)
    write_training_rows(file, [row.id for row in turned], texts, [str(row.gold) for row in turned], chances)
    read = read_training_rows(file)
    assert read is not None and read.texts[5] == turned[5].text
    assert {*np.argsort(read.confidence)[:2].tolist()} == {5, 40}
    assert read.variability == pytest.approx(chances.std(axis=1), abs=1e-5)


def test_rows_that_were_seen_once_are_left_out(tmp_path: Path) -> None:
    """Of a run whose length is in updates a part is no epoch."""
    file, names = tmp_path / "rows.parquet", ["a", "b", "c"]
    seen = np.array([[0.2, np.inf, 0.4], [0.5, np.inf, np.inf], [np.inf] * 3])
    write_training_rows(file, names, names, names, seen)
    read = read_training_rows(file)
    assert read is not None and list(read.ids) == ["a"] and read.confidence == pytest.approx([0.3])
    write_training_rows(tmp_path / "none.parquet", names, names, names, seen[:, :1])
    assert read_training_rows(tmp_path / "none.parquet") is None


def _head(kind: type, logits: Sequence[object], labels: Sequence[object]) -> list[float]:
    given = kind.label_chances(None, torch.tensor(logits), {LABEL: torch.tensor(labels)})  # type: ignore[attr-defined]
    return given.tolist()  # type: ignore[no-any-return]


def test_words_and_answers_that_are_ignored_do_not_count() -> None:
    tags = _head(TaggingHead, [[[0.0, 0.0], [0.0, 9.0], [0.0, -99.0]]], [[0, 1, IGNORED]])
    assert tags == pytest.approx([0.5])
    places = [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
    assert _head(SpanHead, places, [[0, 1], [IGNORED, IGNORED]]) == pytest.approx([0.25, 1.0])
