"""An installation without torch, in an environment of its own: `pip install 'bert-finetune[onnx]'` predicts."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT
from support.runs import FinishedRun

pytestmark = pytest.mark.nightly
UNREACHABLE = ("No matching distribution", "Could not find a version", "connection", "Network is unreachable")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the wheel and the extra `onnx`."""
    folder = tmp_path_factory.mktemp("without-torch")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *constraints, f"{wheel}[onnx]"], capture_output=True, text=True
    )
    if done.returncode and any(word in done.stderr for word in UNREACHABLE):
        pytest.skip("pip reaches no index")
    assert done.returncode == 0, done.stderr
    return python


def output_of(python: Path, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *arguments], cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )


def test_an_export_answers_there(python: Path, exported_run: FinishedRun, tmp_path: Path) -> None:
    export = exported_run("sentence")
    assert "No module named 'torch'" in output_of(python, tmp_path, "-c", "import torch").stderr
    (tmp_path / "new.csv").write_text("review\nthe cat sat\nthe dog sat\n")
    done = output_of(python, tmp_path, "-m", "finetune", "predict", export, "new.csv", "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open() as opened:
        assert [row["prediction"] for row in csv.DictReader(opened)] == ["good", "bad"]
    code = f"import finetune; print(finetune.load({str(export)!r})('the cat sat').value)"
    done = output_of(python, tmp_path, "-c", code)
    assert done.stdout.strip() == "good", done.stderr


def test_training_names_the_extra(python: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\n" + "a,b\nc,d\n" * 9)
    done = output_of(python, tmp_path, "-m", "finetune", "run", "a.csv")
    assert done.returncode == 2
    assert "bert-finetune[train]" in done.stderr.splitlines()[-1]
    assert "no torch" in output_of(python, tmp_path, "-m", "finetune", "--version").stdout
