"""The scripts in benchmarks/ still fit the package."""

import json
import subprocess
import sys
from pathlib import Path

from support.paths import ROOT


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
