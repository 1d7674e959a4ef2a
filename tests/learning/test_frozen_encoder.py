"""Every head learns from a frozen encoder, from any layers, with and without a BiLSTM."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.toys import cat_task, choice_task, span_task, tag_task
from support.training import fit

from finetune.models import backbone as reader
from finetune.models.building import load_backbone
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.task import Task

SHAPES = [cat_task(), tag_task(), span_task(), choice_task()]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """768 is wide for a toy."""
    monkeypatch.setattr(reader, "LSTM_WIDTH", 24)


@pytest.mark.parametrize("task", SHAPES, ids=lambda task: task.name)
@pytest.mark.parametrize(
    "reading",
    [
        pytest.param({}, id="linear", marks=pytest.mark.slow),
        pytest.param({"layers": [0, 1, 2]}, id="layers", marks=pytest.mark.slow),
        pytest.param({"layers": [1, 2], "bilstm": True}, id="bilstm"),
    ],
)
def test_every_head_learns_on_a_frozen_encoder(task: Task, reading: dict[str, Any], tiny_bert: Path) -> None:
    settings = Train(learning_rate=2e-2, epochs=8, batch_size=8, dropout=0.0)
    trainer, _, progress = fit(task, tiny_bert, settings, frozen=True, **reading)
    assert progress.epochs[-1].loss < 0.9 * progress.epochs[0].loss
    before, _ = load_backbone(tiny_bert, Recipe(task="any"))
    now = trainer.model.backbone.encoder.state_dict()
    assert all(torch.equal(tensor, now[name]) for name, tensor in before.encoder.state_dict().items() if name in now)
    trainer.model.train()
    assert trainer.model.head.training
    assert not trainer.model.backbone.encoder.training
