"""The optimizer and its schedules."""

from pathlib import Path
from typing import get_args

import pytest
import torch
from support.toys import cat_task
from support.training import build

from finetune.runs.recipe_tables import Schedule, Train
from finetune.training.optimizer import build_optimizer, build_schedule


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


def test_schedule_rises_over_the_warm_up_and_falls_to_zero() -> None:
    p = torch.nn.Parameter(torch.zeros(2, 2))
    optimizer = build_optimizer(torch.nn.ParameterList([p]), Train(learning_rate=1.0))
    schedule = build_schedule(optimizer, Train(learning_rate=1.0), updates=100)
    rates = []
    for _ in range(100):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates[0] == 0.0
    assert rates[5] == pytest.approx(0.5)
    assert rates[10] == pytest.approx(1.0)
    assert rates[55] == pytest.approx(0.5)
    assert optimizer.param_groups[0]["lr"] == 0.0


@pytest.mark.parametrize("schedule", get_args(Schedule))
def test_every_schedule_can_be_built(schedule: str) -> None:
    settings = Train(schedule=schedule, learning_rate=1e-8)
    optimizer = build_optimizer(torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(2, 2))]), settings)
    last = build_schedule(optimizer, settings, updates=10)
    rates = []
    for _ in range(10):
        optimizer.step()
        last.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert 0 < max(rates) <= 1.01e-8


@pytest.mark.parametrize("schedule", get_args(Schedule))
def test_every_schedule_rises_over_the_warm_up(schedule: str) -> None:
    settings = Train(schedule=schedule, learning_rate=1e-3, warmup=0.4)
    optimizer = build_optimizer(torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(2, 2))]), settings)
    last = build_schedule(optimizer, settings, updates=10)
    rates = []
    for _ in range(10):
        rates.append(1e3 * optimizer.param_groups[0]["lr"])
        optimizer.step()
        last.step()
    assert rates[:5] == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert rates[5:] == pytest.approx([1] * 5) if "constant" in schedule else rates[5] < 1


@pytest.mark.parametrize("warmup", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("updates", [1, 2])
@pytest.mark.parametrize("schedule", get_args(Schedule))
def test_every_schedule_takes_few_updates_and_any_warm_up(schedule: str, updates: int, warmup: float) -> None:
    """transformers' polynomial one divides by the number of updates after the warm-up."""
    settings = Train(schedule=schedule, learning_rate=1e-3, warmup=warmup)
    optimizer = build_optimizer(torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(2, 2))]), settings)
    last = build_schedule(optimizer, settings, updates=updates)
    for _ in range(updates):
        optimizer.step()
        last.step()
        assert 0 <= optimizer.param_groups[0]["lr"] <= 1e-3
