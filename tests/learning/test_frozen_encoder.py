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


def test_words_are_learned_from_embeddings_alone(tiny_bert: Path) -> None:
    settings = Train(learning_rate=0.1, epochs=25, batch_size=8, dropout=0.0)
    _, _, progress = fit(tag_task(), tiny_bert, settings, frozen=True, layers="embeddings")
    assert progress.epochs[-1].headline > 0.75


def test_other_layers_are_read_while_the_encoder_is_trained(tiny_bert: Path) -> None:
    settings = Train(learning_rate=2e-3, epochs=8, batch_size=8, dropout=0.0)
    trainer, _, progress = fit(tag_task(), tiny_bert, settings, layers=[1, 2], bilstm=True)
    assert progress.epochs[-1].loss < 0.9 * progress.epochs[0].loss
    before, _ = load_backbone(tiny_bert, Recipe(task="any"))
    word = "embeddings.word_embeddings.weight"
    assert not torch.equal(before.encoder.state_dict()[word], trainer.model.backbone.encoder.state_dict()[word])
