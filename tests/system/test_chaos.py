"""A few faults of each kind from the chaos harness; `make chaos` tries a thousand."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from slow.chaos.outcome import Failed
from slow.chaos.parts import parts
from slow.chaos.places import Lab
from slow.chaos.trial import Tally
from slow.chaos.work import Plan, run_part
from support.paths import ROOT

SHORT = (
    "kills at writes: sentence, 1 of 2",
    "kills inside writes: sentence, 1 of 2",
    "signals: sentence",
    "damaged, interrupted: sentence",
)
LONGER = (
    r"(kills|errors) (at|inside) writes: .*1 of 2|^damaged|^full disk|at once|read-only|vanishes|again: pre-training"
)


@pytest.mark.nightly
def test_one_fault_of_each_kind_is_survived(tmp_path: Path) -> None:
    """All in one test, since each process that runs some needs seconds to import the libraries."""
    plan = Plan(seed=1, scale=0.01, folder=tmp_path)
    for name in SHORT:
        tally = run_part(name, plan)
        assert tally["failures"] == []
        assert (tally["tried"] == tally["survived"] > 0) or tally["skipped"]


def test_every_part_has_a_name_of_its_own() -> None:
    assert len(parts()) > 100
    assert {*SHORT} < {*parts()}


def test_only_faults_that_were_made_are_counted(tmp_path: Path) -> None:
    tally, lab = Tally(kind="kill"), Lab(folder=tmp_path / "lab", random=Random(1))
    (tmp_path / "template").mkdir()
    made: list[int] = []
    tally.trial(lab, tmp_path / "template", "two kills", lambda place: made.extend((1, 2)), faults=made)
    lost: list[int] = []

    def losing(place: Path) -> None:
        lost.append(3)
        raise Failed("a record", "")

    tally.trial(lab, tmp_path / "template", "one kill", losing, faults=lost)
    assert (tally.tried, tally.survived, len(tally.failures)) == (3, 2, 1)


@pytest.mark.nightly
def test_the_harness_survives_and_writes_its_record(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "slow.chaos",
            "--scale",
            "0.01",
            "--only",
            LONGER,
            "--out",
            tmp_path / "record.json",
            "--work",
            tmp_path,
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["kills"] > 20
    assert record["faults"] > 40
    assert all(found["tried"] == found["survived"] for found in record["kinds"])
