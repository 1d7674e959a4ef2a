"""How much of the package a run passes through: what nobody asked for is neither imported nor run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

MOST = {"modules": 230, "functions": 850, "files": 145}  # a tenth above what was counted


@pytest.mark.slow
def test_a_run_passes_through_few_places(rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    settings = ["glue-rte", "limit=16", f"model={tiny_bert}", "train.epochs=1", "max_length=16", "train.precision=fp32"]
    typed = ["run", *settings, "--data", str(rte), "--out", str(tmp_path), "--device", "cpu"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-m", "support.walk", *typed],
        capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    counted = dict(zip(MOST, json.loads(done.stderr.splitlines()[-1]), strict=True))
    assert {name: count for name, count in counted.items() if count > MOST[name]} == {}, counted
