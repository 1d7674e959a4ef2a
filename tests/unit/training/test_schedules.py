"""Learning-rate schedules."""

from itertools import product

import pytest
import torch

from finetune.runs.recipe import Train
from finetune.training.trainer import build_optimizer, build_schedule

SCHEDULES = ("linear", "cosine", "constant")


def rates_of(settings: Train, updates: int, *, after: bool = False) -> list[float]:
    """The rate of each update; or that which the schedule has after each."""
    optimizer = build_optimizer(torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(2, 2))]), settings)
    schedule = build_schedule(optimizer, settings, updates=updates)
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


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_rises_over_the_warm_up(schedule: str) -> None:
    rates = [1e3 * rate for rate in rates_of(Train(schedule=schedule, learning_rate=1e-3, warmup=0.4), 10)]
    assert rates[:5] == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert rates[5:] == pytest.approx([1] * 5) if schedule == "constant" else rates[5] < 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_takes_few_updates_and_any_warm_up(schedule: str) -> None:
    for warmup, updates, after in product((0.0, 0.1, 1.0), (1, 2, 15), (False, True)):
        settings = Train(schedule=schedule, learning_rate=1e-3, warmup=warmup)
        assert all(0 <= rate <= 1e-3 for rate in rates_of(settings, updates, after=after)), (updates, warmup)


def test_the_warm_up_is_rounded_up() -> None:
    assert [Train(warmup=share).warmup_updates(15) for share in (0.0, 0.1, 1.0)] == [0, 2, 15]
