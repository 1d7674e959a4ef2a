"""Learning-rate schedules, against the formulas of their papers."""

import math
from itertools import product
from typing import get_args

import pytest
import torch

from finetune.runs.recipe_tables import Schedule, Train
from finetune.training.optimizer import build_optimizer, build_schedule, noam_notes

WIDTH = 64
OF_TRANSFORMERS = [name for name in get_args(Schedule) if name != "noam"]


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


def test_layer_decay_multiplies_every_rate() -> None:
    settings = Train(schedule="noam", warmup=0.5, layer_decay=0.5)
    p, q = (torch.nn.Parameter(torch.zeros(2, 2)) for _ in range(2))
    optimizer = build_optimizer(torch.nn.ParameterList([p]), settings.model_copy(update={"layer_decay": 1.0}))
    optimizer.add_param_group({"params": [q], "lr": optimizer.param_groups[0]["lr"] * 0.5})
    schedule_ = build_schedule(optimizer, settings, updates=8, width=WIDTH)
    for _ in range(8):
        assert optimizer.param_groups[1]["lr"] == pytest.approx(0.5 * optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule_.step()


def test_the_warm_up_is_rounded_up() -> None:
    assert [Train(warmup=share).warmup_updates(15) for share in (0.0, 0.1, 1.0)] == [0, 2, 15]


def test_a_note_has_the_peak_of_noam() -> None:
    (note,) = noam_notes(Train(schedule="noam", warmup=0.25), updates=100, width=32)
    assert "rises to 0.0354 at update 25 of 100 (width 32" in note
    assert "lower train.noam_factor" in note
    (low,) = noam_notes(Train(schedule="noam", warmup=0.25, noam_factor=0.001), updates=100, width=32)
    assert "lower" not in low
    assert noam_notes(Train(), updates=100, width=32) == []
