"""Gradient checkpointing: the same updates with less memory."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.pairs import each_task_and_family
from support.toys import cat_task, labelled_shapes
from support.training import Losses, build, fit
from transformers import AutoConfig

from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.runs.recipe import Recipe, Train
from finetune.runs.resolve import parse
from finetune.task_types.task import Task

WITHOUT = ("albert", "mpnet")  # transformers has none for them
SHORT: dict[str, Any] = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3, "dropout": 0.3}


def losses(task: Task, encoder: Path, *, checkpointed: bool, **settings: Any) -> list[float]:
    """The loss of each update: those after the first depend on the gradients."""
    watch = Losses()
    fit(task, encoder, Train(**SHORT, gradient_checkpointing=checkpointed), watch=watch, **settings)
    return watch.values


@each_task_and_family(labelled_shapes(), all_with=(), known=())  # the layers alone are checkpointed, whatever the head
def test_updates_are_the_same(task: Task, tiny_encoder: Path) -> None:
    kind = AutoConfig.from_pretrained(tiny_encoder).model_type
    if kind in WITHOUT:
        with pytest.raises(UserError, match=f"gradient_checkpointing: .* type '{kind}'"):
            losses(task, tiny_encoder, checkpointed=True)
        return
    assert losses(task, tiny_encoder, checkpointed=True) == losses(task, tiny_encoder, checkpointed=False)


@pytest.mark.parametrize(
    "settings",
    [{"lora": 4}, {"freeze_layers": 1}, {"layers": "weighted-sum-all"}, {"layers": [1], "bilstm": 8}],
    ids=str,
)
def test_updates_are_the_same_with(settings: dict[str, Any], tiny_bert: Path) -> None:
    if "lora" in settings:
        pytest.importorskip("peft", reason="needs the extra `lora`")
    found = losses(cat_task(), tiny_bert, checkpointed=True, **settings)
    assert found == losses(cat_task(), tiny_bert, checkpointed=False, **settings)


def test_less_is_kept_for_the_backward_pass(tiny_bert: Path) -> None:
    assert kept_bytes(tiny_bert, checkpointed=True) < 0.5 * kept_bytes(tiny_bert, checkpointed=False)


def kept_bytes(encoder: Path, *, checkpointed: bool) -> int:
    """Bytes of the tensors that a forward pass keeps."""
    trainer, features = build(cat_task(), encoder, Train(gradient_checkpointing=checkpointed))
    kept = 0

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal kept
        kept += tensor.numel() * tensor.element_size()
        return tensor

    batch = collate(features[:16], pad_id=trainer.engine.pad_id)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        trainer.model.train()(*batch.inputs())
    return kept


def test_a_frozen_encoder_needs_none() -> None:
    with pytest.raises(UserError, match="a frozen encoder has no gradients"):
        parse({"task": "mrpc", "frozen": True, "train": {"gradient_checkpointing": True}}, origin="a.toml")
    assert not Recipe(task="mrpc", frozen=True).train.gradient_checkpointing
