"""Runs the fast tests once, and writes how many passed and which share of the package's lines ran.

python benchmarks/tests_and_coverage.py --out results/benchmarks/tests.json    # --tests PATH takes some of them
"""

import json
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from machine import ROOT, options, write


def measure(tests: list[str]) -> dict[str, Any]:
    """The outcomes of these tests, or of all fast ones; a test that fails or breaks counts as failed."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        outcomes, lines = Path(folder) / "outcomes.xml", Path(folder) / "lines.json"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", f"--junitxml={outcomes}", "--cov=finetune"]
        subprocess.run([*command, f"--cov-report=json:{lines}", *tests], cwd=ROOT, check=False)
        (suite,) = ET.parse(outcomes).getroot().iter("testsuite")
        coverage = json.loads(lines.read_text(encoding="utf-8"))["totals"]["percent_covered"]
    every, skipped, failures, errors = (int(suite.attrib[n]) for n in ("tests", "skipped", "failures", "errors"))
    return {
        "passed": every - failures - errors - skipped,
        "failed": failures + errors,
        "skipped": skipped,
        "coverage": coverage,
        "seconds": time.perf_counter() - started,
    }


if __name__ == "__main__":
    given = options(__doc__, tests=str)
    write(given.out, "the fast tests, and the lines that they run", measure([given.tests] if given.tests else []))
