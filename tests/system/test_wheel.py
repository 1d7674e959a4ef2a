"""The wheel holds one top-level package with its tasks and recipes, and the repository what may be in it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("*.whl")
    return zipfile.ZipFile(file)


def test_finetune_is_the_only_top_level_package(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"finetune"}


def test_tasks_recipes_and_data_are_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert "finetune/py.typed" in names
    for folder in ("tasks", "recipes"):
        for file in (ROOT / folder).iterdir():
            if file.suffix in (".py", ".toml", ".csv"):
                assert f"finetune/{folder}/{file.name}" in names
    package = ROOT / "finetune"
    kinds = (".toml", ".j2", ".css", ".js", ".tsv", ".csv")
    read = {f"finetune/{file.relative_to(package)}" for file in package.rglob("*") if file.suffix in kinds}
    assert len(read) > 30
    assert read <= names


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip puts the wheel; what it depends on is that of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder)]
    done = subprocess.run([*pip, str(wheel.filename)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def typed(installed: Path, folder: Path, *arguments: str) -> str:
    """What a command of the installed wheel prints in a folder without the repository."""
    done = subprocess.run(
        [sys.executable, "-c", "import finetune.cli.app as c; print(c.__file__); c.main()", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(installed))
    return done.stdout


def test_the_installed_wheel_lists_tasks_and_recipes(installed: Path, tmp_path: Path) -> None:
    printed = typed(installed, tmp_path, "ls")
    assert "glue-mrpc" in printed
    assert "paraphrase" in printed


def test_the_quickstart_runs_in_any_folder_after_pip_install(installed: Path, tmp_path: Path) -> None:
    """With its report: templates and styles are in the wheel too."""
    printed = typed(installed, tmp_path, "run", "quickstart", "limit=16", "train.epochs=1")
    assert "paraphrase, run" in printed
    typed(installed, tmp_path, "report", "paraphrase", "-o", "report.html")
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_git_keeps_no_predictions_texts_or_weights() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    kept = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "results"], capture_output=True, text=True
    ).stdout.split()
    assert all(name.endswith(("record.json", ".md", ".json")) for name in kept)
    for ignored in (
        "predictions-dev.parquet",
        "events.jsonl",
        "checkpoint.pt",
        "model/model.safetensors",
        "recipe.toml",
    ):
        asked = subprocess.run(["git", "-C", str(ROOT), "check-ignore", f"results/mrpc/0123456789/{ignored}"])
        assert asked.returncode == 0
    assert (
        subprocess.run(["git", "-C", str(ROOT), "check-ignore", "results/mrpc/0123456789/record.json"]).returncode == 1
    )
