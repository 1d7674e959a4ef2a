"""The scripts in benchmarks/ still fit the package."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from measured import FUNCTIONS
from support.paths import ROOT
from support.toy_language import write_corpus
from tables import table

from finetune.models.pretrained import MINILM_PACKAGE


def write_cola(folder: Path) -> None:
    """CoLA's files, with made-up rows."""
    (folder / "CoLA").mkdir()
    for split in ("train", "dev"):
        lines = [f"x\t{i % 2}\t\tthe {'cat' if i % 2 else 'dog'} sat {i}" for i in range(40)]
        (folder / "CoLA" / f"{split}.tsv").write_text("\n".join(lines) + "\n")


def run_twice(*command: str | Path, lines: int) -> dict[str, Any]:
    """What a benchmark measured: first it prints so many lines, and when all is there none."""
    out = command[-1]
    for expected in (lines, 0):
        done = subprocess.run([sys.executable, *command], cwd=ROOT / "benchmarks", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == expected
    measured: dict[str, Any] = json.loads(Path(out).read_text())
    return measured


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_the_benchmark_of_lora_resumes_and_has_a_table(tmp_path: Path, tiny_bert: Path, rte: Path) -> None:
    """With a tiny encoder on the one task whose files are made up here."""
    pytest.importorskip("peft", reason="needs the extra `lora`")
    write_cola(rte)
    measured = run_twice(
        *("lora.py", "--tasks", "cola", "--seeds", "1", "--model", tiny_bert, "--data", rte),
        *("--runs", tmp_path / "runs", "--out", tmp_path / "lora.json"),
        lines=2,
    )  # fmt: skip
    full, small = measured["summary"]["cola"].values()
    assert full["trained_share"] == 1 > 5 * small["trained_share"]
    assert full["checkpoint_bytes"] > 3 * small["checkpoint_bytes"] > 0
    assert full["adapter_bytes"] is None and small["adapter_bytes"] < 0.5 * small["model_bytes"]
    assert table("lora", measured, functions=FUNCTIONS).count("| cola |") == 2


@pytest.mark.nightly
def test_the_benchmark_of_families_resumes(tmp_path: Path, tiny_bert: Path) -> None:
    """With two tiny encoders on rows that are made up here; transformers has no gradient checkpointing of one."""
    lines = [f"{i % 2}\t{i}\t{i}\tthe cat sat\t{'the dog ran ' * (i % 7 + 1)}" for i in range(40)]
    (tmp_path / "MRPC").mkdir()
    (tmp_path / "MRPC" / "train.tsv").write_text("\n".join(["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", *lines]))
    measured = run_twice(
        *("families.py", "--families", "bert", "mpnet", "--sizes", "tiny", "--tiny-updates", "2"),
        *("--tokenizer", tiny_bert, "--precisions", "fp32", "--data", tmp_path, "--out", tmp_path / "families.json"),
        lines=8,
    )  # fmt: skip
    assert all(found.get(each, 1) > 0 for found in measured["runs"] for each in ("bytes", "trained_per_second"))
    assert [found["family"] for found in measured["runs"] if "refused" in found] == ["mpnet"]


SCRIPTS = sorted(
    file.name for file in (ROOT / "benchmarks").glob("*.py") if "__main__" in file.read_text(encoding="utf-8")
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


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_the_benchmark_of_searches_resumes_and_has_a_table(tmp_path: Path, tiny_bert: Path) -> None:
    """With a tiny encoder on one task whose files are made up here."""
    pytest.importorskip("optuna", reason="needs the extra `search`")
    write_cola(tmp_path)
    measured = run_twice(
        *("search.py", "--tasks", "glue-cola", "--seeds", "2", "--trials", "2", "--model", tiny_bert),
        *("--data", tmp_path, "--runs", tmp_path / "runs", "--out", tmp_path / "search.json"),
        lines=3,
    )  # fmt: skip
    for found in measured["results"]["glue-cola"].values():
        assert found["trials"] == 2 and -1 <= found["held_out"] <= 1
    assert table("search", measured, functions=FUNCTIONS).count("| glue-cola |") == 3


@pytest.mark.nightly
def test_the_benchmark_of_pretraining_runs(tmp_path: Path, tiny_bert: Path) -> None:
    """With a text that is made up here."""
    text, out = write_corpus(tmp_path / "corpus.txt", documents=400), tmp_path / "speed.json"
    done = subprocess.run(
        [sys.executable, "pretraining_speed.py", text, tiny_bert, "--models", "new:1x32x2", "--updates", "6",
         "--batch-size", "8", "--length", "32", "--rounds", "1", "--out", out],
        cwd=ROOT / "benchmarks", capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    measured = json.loads(out.read_text())
    assert set(measured["new:1x32x2"]["tokens_per_second"]) == {"finetune", "run_mlm"}
    assert 0 < measured["new:1x32x2"]["masks_share"] < 1
    assert 0 <= measured["padding_share"] < 0.2
    assert "| new:1x32x2 |" in table("pretraining-speed", measured, functions=FUNCTIONS)


EQUAL_HEADS = """
import equal_heads, json, torch
found = {}
for name, start in equal_heads.STARTS.items():
    model = equal_heads.built(start, 1, 50).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(5):
        model(input_ids=torch.randint(50, (8, 6)), labels=torch.randint(2, (8,))).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    found[name] = equal_heads.apart(model)
print(json.dumps(found))
"""


@pytest.mark.nightly
def test_equal_heads_stay_equal_unless_something_makes_them_differ() -> None:
    command = [sys.executable, "-c", EQUAL_HEADS]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    stay = ("equal", "equal, dropout of hidden states")
    assert max(found[name] for name in stay) < 1e-12
    assert min(value for name, value in found.items() if name not in stay) > 1e-3


@pytest.mark.nightly
def test_the_benchmark_of_short_runs_finds_each_part(tmp_path: Path) -> None:
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    out = tmp_path / "short_runs.json"
    command = [sys.executable, "short_runs.py", "--rows", "120", "--out", out]
    subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, check=True)
    for run in json.loads(out.read_text())["measured"][0]["runs"]:
        assert all(seconds > 0 for seconds in run["seconds"].values()), run
        assert run["seconds"]["training"] > run["seconds"]["tokens"]


@pytest.mark.nightly
def test_the_profile_of_an_update_has_its_products(real_data: Path, tmp_path: Path) -> None:
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    out = tmp_path / "profile.json"
    command = [sys.executable, "step_profile.py", "--updates", "2", "--data", real_data, "--out", out]
    subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, check=True)
    for kinds in json.loads(out.read_text())["runs"].values():
        assert all(milliseconds > 0 for milliseconds in kinds.values()), kinds
        assert kinds["products"] > sum(kinds.values()) / 3


@pytest.mark.nightly
def test_the_benchmark_of_padding_counts_tokens(tmp_path: Path) -> None:
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    write_cola(tmp_path)
    out = tmp_path / "padding.json"
    command = [sys.executable, "padding.py", "--tasks", "CoLA", "--data", tmp_path, "--out", out]
    subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, check=True)
    found = json.loads(out.read_text())["tasks"]["CoLA"]
    assert found["training"]["cpu"]["tokens"] < 0.1  # all rows have one length but for some figures
    assert found["training"]["cuda"]["tokens"] == pytest.approx(1 - found["mean_tokens"] / 8)  # padded to 8 tokens


def rehearsed(part: str, work: Path, runs: str, data: Path) -> dict[str, Any]:
    """What the part of a GPU's benchmark found on the CPU, with few rows."""
    command = [sys.executable, "gpu.py", "--parts", part, "--limit", "24", "--workers", "2", "--data", data,
               "--runs", work / runs, "--records", work / "records", "--out", work / "gpu"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((work / "gpu" / f"{part}.json").read_text())[part]
    kept = {f"{file.parents[1].name}/{file.parent.name}" for file in (work / "records").glob("*/*/record.json")}
    assert kept.issuperset(found["runs"])
    return found


@pytest.mark.nightly
def test_the_runs_of_a_gpu_resume_and_one_that_fails_does_not_stop_the_rest(tmp_path: Path) -> None:
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    write_cola(tmp_path)
    first = rehearsed("seeds", tmp_path, "runs", tmp_path)
    assert [run.split("/")[0] for run in first["runs"]] == ["cola"]
    assert any("sst2" in failure for failure in first["failed"]) and len(first["failed"]) > 9
    again = rehearsed("seeds", tmp_path, "others", tmp_path)
    assert again["runs"] == first["runs"]
    assert not list((tmp_path / "others").glob("*/*/model"))


@pytest.mark.nightly
@pytest.mark.parametrize("part", ["table-7", "own-encoder"])
def test_the_runs_of_a_gpu_can_be_rehearsed(part: str, real_data: Path, tmp_path: Path) -> None:
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    found = rehearsed(part, tmp_path, "runs", real_data)
    assert not found["failed"]
    assert len(found["runs"]) >= 7
