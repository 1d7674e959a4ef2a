"""The scripts in benchmarks/ still fit the package."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from finetune.models.pretrained import MINILM_PACKAGE

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
EQUAL_HEADS = """
import heads, json, torch
found = {}
for start in heads.STARTS:
    model = heads.built(start, 1, 50).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(5):
        model(input_ids=torch.randint(50, (8, 6)), labels=torch.randint(2, (8,))).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    found[start] = heads.apart(model)
print(json.dumps(found))
"""


def python(*arguments: str | Path, folder: Path = FOLDER) -> str:
    """What a command prints."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def measured(*command: str | Path, out: Path) -> dict[str, Any]:
    """What a benchmark measured."""
    python(*command, "--out", out)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def write_cola(folder: Path) -> None:
    """CoLA's files, with made-up rows."""
    (folder / "CoLA").mkdir()
    for split in ("train", "dev"):
        lines = [f"x\t{i % 2}\t\tthe {'cat' if i % 2 else 'dog'} sat {i}" for i in range(40)]
        (folder / "CoLA" / f"{split}.tsv").write_text("\n".join(lines) + "\n")


def test_every_benchmark_can_be_imported_and_asked_for_help() -> None:
    """All of them in one process, whose imports take seconds."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), "."])}
    command = [sys.executable, "-c", HELP, *SCRIPTS]
    done = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--out OUT") >= len(SCRIPTS) > 15


def test_the_benchmark_of_families_runs(tmp_path: Path, tiny_bert: Path) -> None:
    """With two tiny encoders on rows that are made up here; transformers has no gradient checkpointing of one."""
    lines = [f"{i % 2}\t{i}\t{i}\tthe cat sat\t{'the dog ran ' * (i % 7 + 1)}" for i in range(40)]
    (tmp_path / "MRPC").mkdir()
    (tmp_path / "MRPC" / "train.tsv").write_text("\n".join(["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", *lines]))
    found = measured(
        *("families.py", "--families", "bert", "mpnet", "--sizes", "tiny", "--updates", "2", "--tokenizer", tiny_bert),
        *("--precisions", "fp32", "--data", tmp_path),
        out=tmp_path / "families.json",
    )  # fmt: skip
    assert all(run.get(name, 1) > 0 for run in found["runs"] for name in ("bytes", "trained_per_second"))
    assert [run["family"] for run in found["runs"] if "refused" in run] == ["mpnet"]


def test_the_benchmark_of_searches_runs(tmp_path: Path, tiny_bert: Path) -> None:
    """With a tiny encoder on one task whose files are made up here."""
    pytest.importorskip("optuna", reason="needs the extra `search`")
    write_cola(tmp_path)
    found = measured(
        *("search.py", "--tasks", "glue-cola", "--seeds", "2", "--trials", "2", "--model", tiny_bert),
        *("--data", tmp_path, "--runs", tmp_path / "runs"),
        out=tmp_path / "search.json",
    )  # fmt: skip
    for method in found["results"]["glue-cola"].values():
        assert method["trials"] == 2 and -1 <= method["held_out"] <= 1


def test_equal_heads_stay_equal_unless_something_makes_them_differ() -> None:
    found = json.loads(python("-c", EQUAL_HEADS))
    stay = ("equal", "equal, dropout of hidden states")
    assert max(found[name] for name in stay) < 1e-12
    assert min(value for name, value in found.items() if name not in stay) > 1e-3


def test_the_profile_of_an_update_runs(real_data: Path, tmp_path: Path) -> None:
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    found = measured(
        *("step_profile.py", "--updates", "2", "--data", real_data),
        out=tmp_path / "profile.json",
    )  # fmt: skip
    for kinds in found["runs"].values():
        assert all(milliseconds > 0 for milliseconds in kinds.values()), kinds
        assert kinds["products"] > sum(kinds.values()) / 3


def test_the_benchmark_of_padding_runs(tmp_path: Path) -> None:
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    write_cola(tmp_path)
    found = measured(
        *("padding.py", "--tasks", "CoLA", "--data", tmp_path),
        out=tmp_path / "padding.json",
    )  # fmt: skip
    cola = found["tasks"]["CoLA"]
    assert cola["training"]["cpu"]["tokens"] < 0.1  # all rows have one length but for some figures
    assert cola["training"]["cuda"]["tokens"] == pytest.approx(1 - cola["mean_tokens"] / 8)  # padded to 8 tokens


def test_the_benchmark_of_growth_measures_each_command(tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="needs the extra `search`")
    found = measured(
        *("growth.py", "--rows", "200", "400"),
        out=tmp_path / "growth.json",
    )  # fmt: skip
    assert len(found["measured"]) == 10 and all(0 < line["peak_megabytes"] < 2_000 for line in found["measured"])
