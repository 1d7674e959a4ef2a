"""Kills in `run` and `predict`: the same command then leaves what it leaves undisturbed; `make chaos` has hundreds."""

from pathlib import Path

import pytest
from slow.chaos.work import Plan, run_part

# What is killed: parts of the harness, the share of their trials that is tried, and how many kills these are.
KILLS = {
    "run, at a write": [("kills at writes: sentence, 1 of 2", 0.045, 3)],
    "run, at any moment": [("kills inside writes: sentence, 2 of 2", 0.045, 2), ("random kills: sentence", 0.25, 3)],
    "predict": [
        ("kills at writes: predict, CSV, 1 of 2", 1.0, 2),
        ("kills at writes: predict, CSV, 2 of 2", 1.0, 2),
        ("kills inside writes: predict, CSV, 2 of 2", 1.0, 2),
        ("random kills: predict, CSV", 0.5, 6),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("killed", KILLS)
def test_after_a_kill_the_same_command_finishes(killed: str, tmp_path: Path) -> None:
    for part, scale, kills in KILLS[killed]:
        tally = run_part(part, Plan(seed=1, scale=scale, folder=tmp_path))
        assert tally["failures"] == [], part
        assert tally["tried"] == tally["survived"] >= kills, part


def test_twenty_kills_are_tried() -> None:
    assert sum(kills for parts in KILLS.values() for _, _, kills in parts) == 20
