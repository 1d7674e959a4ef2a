"""Kills in `run` and `predict`: the same command then leaves what it leaves undisturbed; `make chaos` has hundreds."""

from pathlib import Path

import pytest
from slow.chaos.faults import KINDS, PARTS
from slow.chaos.harness import run_part

# (kind of fault, scenario): the share of its trials, and how many these are at least.
TRIED = {
    ("SIGKILL at a write", "sentence"): (0.02, 3),
    ("SIGXFSZ inside a write", "sentence"): (0.02, 3),
    ("SIGKILL at a random moment", "sentence"): (0.2, 2),
    ("SIGTERM or Ctrl-C", "sentence"): (0.2, 1),
    ("error at a write", "sentence"): (0.02, 3),
    ("damaged file of an interrupted run", "sentence"): (0.1, 2),
    ("SIGKILL at a write", "predict"): (1.0, 4),
    ("SIGKILL at a random moment", "predict"): (0.3, 4),
}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_after_a_fault_the_same_command_finishes(tmp_path: Path) -> None:
    """All in one test, since each process that runs some needs seconds to import the libraries."""
    for (kind, scenario), (share, least) in TRIED.items():
        tally = run_part(kind, scenario, share=share, seed=1, folder=tmp_path)
        assert tally["failures"] == [], (kind, scenario)
        assert tally["tried"] == tally["survived"] >= least, (kind, scenario, tally["tried"])


def test_each_fault_is_made_in_each_scenario() -> None:
    assert {*TRIED} < {*PARTS}
    assert {kind for kind, _ in PARTS} == {*KINDS}
