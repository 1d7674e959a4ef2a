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


@pytest.mark.slow
def test_the_benchmark_of_lora_resumes_and_has_a_table(tmp_path: Path, tiny_bert: Path, rte: Path) -> None:
    """With a tiny encoder on the one task whose files are made up here."""
    pytest.importorskip("peft", reason="needs the extra `lora`")
    (rte / "CoLA").mkdir()
    for split in ("train", "dev"):
        lines = [f"x\t{i % 2}\t\tthe {'cat' if i % 2 else 'dog'} sat {i}" for i in range(40)]
        (rte / "CoLA" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "lora.json"
    command = [sys.executable, "lora.py", "--tasks", "cola", "--seeds", "1", "--model", tiny_bert, "--data", rte]
    command += ["--runs", tmp_path / "runs", "--out", out]
    for expected in (2, 0):  # the second time everything is there
        done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == expected
    measured = json.loads(out.read_text())
    full, small = measured["summary"]["cola"].values()
    assert full["trained_share"] == 1 > 5 * small["trained_share"]
    assert full["checkpoint_bytes"] > 3 * small["checkpoint_bytes"] > 0
    assert full["adapter_bytes"] is None and small["adapter_bytes"] < 0.5 * small["model_bytes"]
    printed = "import json, sys, benchmark_tables as t; print(t.lora_table(json.load(open(sys.argv[1]))))"
    table = subprocess.run(
        [sys.executable, "-c", printed, out], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True
    )
    assert table.stdout.count("| cola |") == 2


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


@pytest.mark.slow
def test_the_benchmark_of_searches_resumes_and_has_a_table(tmp_path: Path, tiny_bert: Path) -> None:
    """With a tiny encoder on one task whose files are made up here."""
    pytest.importorskip("optuna", reason="needs the extra `search`")
    (tmp_path / "CoLA").mkdir()
    for split in ("train", "dev"):
        lines = [f"x\t{i % 2}\t\tthe {'cat' if i % 2 else 'dog'} sat {i}" for i in range(40)]
        (tmp_path / "CoLA" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "search.json"
    command = [sys.executable, "search.py", "--tasks", "glue-cola", "--seeds", "2", "--trials", "2"]
    command += ["--model", tiny_bert, "--data", tmp_path, "--runs", tmp_path / "runs", "--out", out]
    for expected in (4, 0):  # the second time everything is there
        done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == expected
    for found in json.loads(out.read_text())["results"]["glue-cola"].values():
        assert found["trials"] == 2 and -1 <= found["held_out"] <= 1
    printed = "import json, sys, benchmark_tables as t; print(t.search_table(json.load(open(sys.argv[1]))))"
    table = subprocess.run(
        [sys.executable, "-c", printed, out], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True
    )
    assert table.stdout.count("| glue-cola |") == 4
