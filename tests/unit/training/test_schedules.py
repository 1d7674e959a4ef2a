"""Learning-rate schedules, against the formulas of their papers."""

import math
from itertools import product
from typing import get_args

import pytest
import torch

from finetune.runs.recipe_tables import Schedule, Train
from finetune.training.optimizer import build_optimizer
from finetune.training.schedules import build_schedule

WIDTH = 64
OF_TRANSFORMERS = [name for name in get_args(Schedule) if name not in ("noam", "slanted_triangular")]


def rates_of(settings: Train, updates: int, *, after: bool = False) -> list[float]:
    """The rate of each update; or that which the schedule has after each."""
    optimizer = build_optimizer(torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(2, 2))]), settings)
    schedule = build_schedule(optimizer, settings, updates=updates, width=WIDTH)
    rates = []
    for _ in range(updates):
        rates += [] if after else [optimizer.param_groups[0]["lr"]]
        optimizer.step()
        schedule.step()
        rates += [optimizer.param_groups[0]["lr"]] if after else []
    return rates


def test_schedule_rises_over_the_warm_up_and_falls_to_zero() -> None:
    rates = rates_of(Train(learning_rate=1.0), 100)
    assert rates[0] == 0.0
    assert rates[5] == pytest.approx(0.5)
    assert rates[10] == pytest.approx(1.0)
    assert rates[55] == pytest.approx(0.5)
    assert rates_of(Train(learning_rate=1.0), 100, after=True)[-1] == 0.0


@pytest.mark.parametrize("schedule", OF_TRANSFORMERS)
def test_every_schedule_of_transformers_can_be_built(schedule: str) -> None:
    assert 0 < max(rates_of(Train(schedule=schedule, learning_rate=1e-8), 10, after=True)) <= 1.01e-8


@pytest.mark.parametrize("schedule", OF_TRANSFORMERS)
def test_every_schedule_of_transformers_rises_over_the_warm_up(schedule: str) -> None:
    rates = [1e3 * rate for rate in rates_of(Train(schedule=schedule, learning_rate=1e-3, warmup=0.4), 10)]
    assert rates[:5] == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert rates[5:] == pytest.approx([1] * 5) if "constant" in schedule else rates[5] < 1


@pytest.mark.parametrize("schedule", get_args(Schedule))
def test_every_schedule_takes_few_updates_and_any_warm_up(schedule: str) -> None:
    """transformers' polynomial one divides by the number of updates after the warm-up."""
    for warmup in (0.1, 1.0) if schedule == "noam" else (0.0, 0.1, 1.0):  # which refuses none in a recipe
        settings = Train(schedule=schedule, learning_rate=1e-3, warmup=warmup, noam_factor=1e-3)
        for updates, after in product((1, 2, 15), (False, True)):
            assert all(0 <= rate <= 1e-3 for rate in rates_of(settings, updates, after=after)), (updates, warmup)


def test_noam_is_equation_3_of_its_paper() -> None:
    """lrate = d_model^-0.5 * min(step_num^-0.5, step_num * warmup_steps^-1.5), times the factor."""
    rates = rates_of(Train(schedule="noam", warmup=0.25, noam_factor=2.0), 16)
    expected = [2.0 * WIDTH**-0.5 * min(step**-0.5, step * 4**-1.5) for step in range(1, 17)]
    assert rates == pytest.approx(expected)
    assert max(rates) == rates[3] == pytest.approx(2 / math.sqrt(WIDTH * 4))


def test_slanted_triangular_is_equation_3_of_its_paper() -> None:
    """With cut_frac 0.1 and ratio 32, as there, where cut_frac x T is a whole number."""
    total, cut_frac, ratio = 50, 0.1, 32
    cut = math.floor(total * cut_frac)
    expected = []
    for t in range(total):
        p = t / cut if t < cut else 1 - (t - cut) / (cut * (1 / cut_frac - 1))
        expected.append(0.01 * (1 + p * (ratio - 1)) / ratio)
    rates = rates_of(Train(schedule="slanted_triangular", learning_rate=0.01), total)
    assert rates == pytest.approx(expected)
    assert rates[0] == pytest.approx(0.01 / 32)
    assert rates[5] == pytest.approx(0.01)


def test_slanted_triangular_never_falls_below_its_lowest_rate() -> None:
    """The paper's formula does, at 19 updates: its cut is rounded down to 1."""
    rates = rates_of(Train(schedule="slanted_triangular", learning_rate=1.0, slant_ratio=10.0), 19, after=True)
    assert min(rates) == rates[-1] == pytest.approx(0.1)


@pytest.mark.parametrize("schedule", ["noam", "slanted_triangular"])
def test_layer_decay_multiplies_every_rate(schedule: str) -> None:
    settings = Train(schedule=schedule, warmup=0.5, layer_decay=0.5)
    p, q = (torch.nn.Parameter(torch.zeros(2, 2)) for _ in range(2))
    optimizer = build_optimizer(torch.nn.ParameterList([p]), settings.model_copy(update={"layer_decay": 1.0}))
    optimizer.add_param_group({"params": [q], "lr": optimizer.param_groups[0]["lr"] * 0.5})
    schedule_ = build_schedule(optimizer, settings, updates=8, width=WIDTH)
    for _ in range(8):
        assert optimizer.param_groups[1]["lr"] == pytest.approx(0.5 * optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule_.step()


@pytest.mark.parametrize(("updates", "warmup", "expected"), [(100, 0.29, 29), (15, 0.1, 1), (5, 0.1, 0), (5, 1.0, 5)])
def test_the_cut_is_rounded_down(updates: int, warmup: float, expected: int) -> None:
    assert Train(schedule="slanted_triangular", warmup=warmup).warmup_updates(updates) == expected
    assert Train(warmup=warmup).warmup_updates(updates) == math.ceil(warmup * updates)
