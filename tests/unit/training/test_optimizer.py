"""The optimizer: each kind against a step that is written by hand."""

from pathlib import Path

import torch
from support.toys import cat_task
from support.training import build

from finetune.runs.recipe import Train
from finetune.training.trainer import build_optimizer


def test_decayed_and_undecayed_parameters(tiny_bert: Path) -> None:
    trainer, _ = build(cat_task(), tiny_bert, Train())
    decayed, undecayed = build_optimizer(trainer.model, Train()).param_groups
    names = {id(p): name for name, p in trainer.model.named_parameters()}
    assert decayed["weight_decay"] == 0.01
    assert undecayed["weight_decay"] == 0.0
    assert all("LayerNorm" in names[id(p)] or names[id(p)].endswith("bias") for p in undecayed["params"])
    assert not any("LayerNorm" in names[id(p)] or names[id(p)].endswith("bias") for p in decayed["params"])


def test_without_bias_correction_the_first_update_is_the_formula_of_the_original() -> None:
    p = torch.nn.Parameter(torch.tensor([[1.0, -2.0]]))
    optimizer = build_optimizer(torch.nn.ParameterList([p]), Train(bias_correction=False, learning_rate=0.1))
    p.grad = torch.tensor([[0.5, -0.25]])
    optimizer.step()
    m, v = 0.1 * p.grad, 0.001 * p.grad**2
    expected = torch.tensor([[1.0, -2.0]]) - 0.1 * (m / (v.sqrt() + 1e-6) + 0.01 * torch.tensor([[1.0, -2.0]]))
    assert torch.allclose(p.detach(), expected, atol=1e-6)


def test_layer_decay_multiplies_the_rate_of_each_layer(tiny_bert: Path) -> None:
    settings = Train(layer_decay=0.5, learning_rate=0.1)
    trainer, _ = build(cat_task(), tiny_bert, settings)
    groups = build_optimizer(trainer.model, settings).param_groups
    assert {group["lr"] for group in groups} == {0.1, 0.05, 0.025, 0.0125}
    assert {(group["weight_decay"], p.ndim > 1) for group in groups for p in group["params"]} == {
        (0.01, True),
        (0.0, False),
    }
