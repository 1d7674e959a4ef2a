"""The scripts in benchmarks/ still fit the package."""

import os
import subprocess
import sys

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.nightly
FOLDER = ROOT / "benchmarks"
SCRIPTS = sorted(file.name for file in FOLDER.glob("*.py") if "__main__" in file.read_text(encoding="utf-8"))
HELP = """
import runpy, sys
for script in sys.argv[1:]:
    sys.argv = [script, "--help"]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        assert not ended.code, script
"""


def test_every_benchmark_can_be_imported_and_asked_for_help() -> None:
    """All of them in one process, whose imports take seconds."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), "."])}
    command = [sys.executable, "-c", HELP, *SCRIPTS]
    done = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--out OUT") >= len(SCRIPTS) > 15
