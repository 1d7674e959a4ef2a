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


def test_the_installed_wheel_runs(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "import finetune.cli.app as c; print(c.__file__); c.main()", "ls"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))
    assert "glue-mrpc" in done.stdout
    assert "paraphrase" in done.stdout


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
