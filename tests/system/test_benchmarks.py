"""The scripts in benchmarks/ still fit the package."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT


@pytest.mark.slow
def test_the_benchmark_of_check_runs(tmp_path: Path) -> None:
    out = tmp_path / "speed.json"
    folder = ROOT / "benchmarks"
    done = subprocess.run(
        [sys.executable, "check_speed.py", "--rows", "400", "--out", out], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(out.read_text())
    assert measured["rows"] == 400
    assert measured["seconds"] > 0 and 0.1 < measured["peak_gigabytes"] < 2


SCRIPTS = sorted(
    file.name
    for file in (ROOT / "benchmarks").glob("*.py")
    if "__main__" in file.read_text(encoding="utf-8") and file.name != "measured.py"  # which renews the documents
)
HELP = """
import runpy, sys
for script in sys.argv[1:]:
    sys.argv = [script, "--help"]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        assert not ended.code, script
"""


@pytest.mark.slow
def test_every_benchmark_can_be_imported_and_asked_for_help() -> None:
    """All of them in one process, whose imports take seconds."""
    assert len(SCRIPTS) >= 6
    done = subprocess.run(
        [sys.executable, "-c", HELP, *SCRIPTS],
        cwd=ROOT / "benchmarks",
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), "."])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--out") >= len(SCRIPTS)
