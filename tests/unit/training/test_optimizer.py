"""The optimizer: each kind against a step that is written by hand."""

import math
from pathlib import Path

import torch
from support.toys import cat_task
from support.training import build

from finetune.runs.recipe_tables import Train
from finetune.training.optimizer import build_optimizer

START = torch.tensor([[1.0, -2.0]])
GRADIENTS = [torch.tensor([[0.5, -0.25]]) * factor for factor in (1.0, -3.0, 0.5, 2.0, 1.5, -1.0, 0.25, 4.0)]


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


def test_radam_is_algorithm_2_of_its_paper() -> None:
    """The first five updates have no second moment: its average is too short to tell the variance."""
    beta1, beta2, rate, decay, epsilon = 0.9, 0.999, 0.1, 0.5, 1e-6
    longest = 2 / (1 - beta2) - 1
    weight, m, v = START.clone(), torch.zeros(1, 2), torch.zeros(1, 2)
    rectified = []
    for t, gradient in enumerate(GRADIENTS, start=1):
        weight = weight - rate * decay * weight
        m, v = beta1 * m + (1 - beta1) * gradient, beta2 * v + (1 - beta2) * gradient**2
        length = longest - 2 * t * beta2**t / (1 - beta2**t)
        step = m / (1 - beta1**t)
        rectified.append(length > 5)
        if rectified[-1]:
            r = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
            step = step * r * math.sqrt(1 - beta2**t) / (v.sqrt() + epsilon)
        weight = weight - rate * step
    settings = Train(solver="radam", learning_rate=rate, weight_decay=decay, adam_epsilon=epsilon)
    assert torch.allclose(stepped(settings), weight, atol=1e-5)
    assert rectified == [False] * 5 + [True] * 3


def test_radam_leaves_biases_undecayed_and_has_layer_decay(tiny_bert: Path) -> None:
    settings = Train(solver="radam", layer_decay=0.5, learning_rate=0.1)
    trainer, _ = build(cat_task(), tiny_bert, settings)
    groups = build_optimizer(trainer.model, settings).param_groups
    assert {group["lr"] for group in groups} == {0.1, 0.05, 0.025, 0.0125}
    assert {(group["weight_decay"], p.ndim > 1) for group in groups for p in group["params"]} == {
        (0.01, True),
        (0.0, False),
    }


def stepped(settings: Train) -> torch.Tensor:
    """A weight after an update for each gradient."""
    p = torch.nn.Parameter(START.clone())
    optimizer = build_optimizer(torch.nn.ParameterList([p]), settings)
    for gradient in GRADIENTS:
        p.grad = gradient
        optimizer.step()
    assert {group["weight_decay"] for group in optimizer.param_groups} == {settings.weight_decay}
    return p.detach()
