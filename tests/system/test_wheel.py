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


def test_the_wheel_has_one_package_with_its_tasks_recipes_and_data(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {top for top in (name.split("/")[0] for name in names) if not top.endswith(".dist-info")} == {"finetune"}
    listed = [file for folder in ("tasks", "recipes") for file in (ROOT / folder).iterdir()]
    kept = {f"finetune/{file.relative_to(ROOT)}" for file in listed if file.suffix in (".py", ".toml", ".csv")}
    package = ROOT / "finetune"
    kinds = (".toml", ".j2", ".css", ".js", ".tsv", ".csv")
    read = {f"finetune/{file.relative_to(package)}" for file in package.rglob("*") if file.suffix in kinds}
    assert len(kept) > 30 and len(read) > 30
    assert {"finetune/py.typed", *kept, *read} <= names


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip puts the wheel; what it depends on is that of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder)]
    done = subprocess.run([*pip, str(wheel.filename)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_quickstart_runs_in_any_folder_after_pip_install(installed: Path, tmp_path: Path) -> None:
    """With its report: templates and styles are in the wheel too."""
    for typed, shown in (
        (["ls"], "glue-mrpc"),
        (["run", "quickstart", "limit=16", "train.epochs=1"], "paraphrase, run"),
        (["report", "paraphrase", "-o", "report.html"], "report.html"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", "import finetune.cli.app as c; print(c.__file__); c.main()", *typed],
            cwd=tmp_path,
            env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(str(installed)) and shown in done.stdout
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_git_keeps_no_predictions_texts_or_weights() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    git = ["git", "-C", str(ROOT)]
    kept = subprocess.run([*git, "ls-files", "results"], capture_output=True, text=True).stdout.split()
    assert all(name.endswith(("record.json", ".md", ".json")) for name in kept)
    for name in ("predictions-dev.parquet", "events.jsonl", "checkpoint.pt", "model/model.safetensors", "recipe.toml"):
        assert subprocess.run([*git, "check-ignore", f"results/mrpc/0123456789/{name}"]).returncode == 0
    assert subprocess.run([*git, "check-ignore", "results/mrpc/0123456789/record.json"]).returncode == 1
