"""Runs the fast tests once, and writes how many passed and which share of the package's lines ran.

python benchmarks/tests_and_coverage.py --out results/benchmarks/tests.json
"""

import json
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dated import out_parser, write_json

ROOT = Path(__file__).resolve().parents[1]


def measure(tests: list[str]) -> dict[str, Any]:
    """The outcomes of these tests, or of all fast ones; a test that fails or breaks counts as failed."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        outcomes, lines = Path(folder) / "outcomes.xml", Path(folder) / "lines.json"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", f"--junitxml={outcomes}", "--cov=finetune"]
        subprocess.run([*command, f"--cov-report=json:{lines}", *tests], cwd=ROOT, check=False)
        (suite,) = ET.parse(outcomes).getroot().iter("testsuite")
        every, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
        failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
        coverage = json.loads(lines.read_text(encoding="utf-8"))["totals"]["percent_covered"]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "passed": every - failed - skipped,
        "failed": failed,
        "skipped": skipped,
        "coverage": coverage,
        "seconds": time.perf_counter() - started,
    }


def _commit() -> str:
    asked = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.strip()


if __name__ == "__main__":
    parser = out_parser(__doc__)
    parser.add_argument("tests", nargs="*", help="default: all fast tests")
    given = parser.parse_args()
    write_json(given.out, measure(given.tests))
