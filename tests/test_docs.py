"""The documents are true: their commands run, their figures are the records', their tree is the tree."""

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toys import span_task, write_columns, write_squad, write_swag

from finetune import cli, submission
from finetune.grid import expand
from finetune.recipe import parse
from finetune.source import Source

ROOT = Path(__file__).resolve().parents[1]
OWN_TASK = ROOT / "docs" / "your-own-task.md"  # test_own_task.py runs all of it
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted({*(ROOT / "docs").glob("*.md")} - {OWN_TASK})]
SMALL = ["train.epochs=1", "limit=16", "max_length=64"]


def blocks(language: str) -> list[str]:
    """All code blocks of a language."""
    texts = [document.read_text(encoding="utf-8") for document in DOCUMENTS]
    return [block for text in texts for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def commands() -> list[str]:
    """Every shell command, without its comment."""
    lines = [line.split("  #")[0].strip() for block in blocks("bash") for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line))


def run_in_process(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["finetune", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All nine GLUE tasks, made up, in the layout of the official files."""
    folder = tmp_path_factory.mktemp("glue-data") / "glue"
    pair = "index\tsentence1\tsentence2\t"
    made: dict[str, tuple[str, str, tuple[str, ...]]] = {
        "CoLA": ("", "s\t{}\t\tthe cat sat {}", ("0", "1")),
        "SST-2": ("sentence\tlabel", "fine cat {1}\t{0}", ("0", "1")),
        "MRPC": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "{}\t1\t2\tthe cat {}\tdog", ("0", "1")),
        "STS-B": (pair + "score", "{1}\ta cat\ta dog\t{0}", ("0.5", "3.0")),
        "QQP": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "1\t2\t3\twho {1}\twhy\t{0}", ("0", "1")),
        "MNLI": (pair + "gold_label", "{1}\ta cat\ta dog\t{0}", ("entailment", "neutral", "contradiction")),
        "QNLI": ("index\tquestion\tsentence\tlabel", "{1}\twho\the\t{0}", ("entailment", "not_entailment")),
        "RTE": (pair + "label", "{1}\ta cat\ta dog\t{0}", ("entailment", "not_entailment")),
        "WNLI": (pair + "label", "{1}\ta cat\ta dog\t{0}", ("0", "1")),
    }
    for name, (header, line, labels) in made.items():
        (folder / name).mkdir(parents=True)
        lines = [header] * bool(header) + [line.format(labels[i % len(labels)], i) for i in range(20)]
        for file in ("train", "dev", "dev_matched", "dev_mismatched", "test", "test_matched", "test_mismatched"):
            (folder / name / f"{file}.tsv").write_text("\n".join(lines) + "\n")
    (folder / "CoLA" / "test.tsv").write_text("index\tsentence\n" + "0\tthe cat sat\n" * 20)
    (folder / "diagnostic").mkdir()
    (folder / "diagnostic" / "diagnostic.tsv").write_text("index\tsentence1\tsentence2\n" + "0\ta cat\ta dog\n" * 20)
    write_other_shapes(folder.parent)
    return folder


def write_other_shapes(folder: Path) -> None:
    """The toys of the other shapes, in the official files of every task."""
    (folder / "conll2003").mkdir()
    write_columns(folder / "conll2003", ("eng.train", "eng.testa", "eng.testb"), types=("PER", "LOC"))
    write_columns(
        folder, ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"), types=("person", "group")
    )
    for version in ("v1.1", "v2.0"):
        write_squad(folder, version)
    write_swag(folder)
    (folder / "codah/cv_split/fold_1").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        lines = [f"n\tThe cat {i}\tsat.\tran.\tflew.\tsang.\t{i % 4}" for i in range(20)]
        (folder / f"codah/cv_split/fold_1/{split}.tsv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a reader types the commands, one after the other."""
    return tmp_path_factory.mktemp("reader")


@pytest.mark.parametrize("command", [command for command in commands() if command.startswith("finetune ")])
def test_every_command_of_the_documents_runs(
    command: str, data: Path, place: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a tiny encoder and made-up data in the place of real ones, and few rows; in the order of the documents."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("FINETUNE_DATA", str(data.parent))
    monkeypatch.setattr(submission, "FILES", tuple(replace(file, rows=20) for file in submission.FILES))
    command = command.replace("path/to/glue", str(data)).replace("path/to/conll2003", str(data.parent / "conll2003"))
    arguments = command.replace("'", "").split()[1:]
    (place / "predictions.json").write_text(
        json.dumps({row.id: "moon" for row in span_task().load(Source(), "dev").rows})
    )
    arguments = [f"model={tiny_bert}" if argument.startswith("model=") else argument for argument in arguments]
    if arguments[0] in ("run", "check"):
        arguments += [f"model={tiny_bert}", *SMALL]
    if "RUN" in arguments:
        (record, *_) = sorted(place.glob("results/mrpc/*/record.json"))
        arguments = [record.parent.name if argument == "RUN" else argument for argument in arguments]
    assert run_in_process(arguments, monkeypatch) == 0


@pytest.mark.parametrize("script", ["against_trainer.py", "cpu_parts.py", "squad_postprocessing.py", "rates.py"])
def test_benchmarks_still_fit_the_package(script: str) -> None:
    done = subprocess.run([sys.executable, script, "--help"], cwd=ROOT / "benchmarks", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--rounds" in done.stdout


def test_every_other_command_is_one_that_a_test_knows() -> None:
    others = [command for command in commands() if not command.startswith("finetune ")]
    made = {"make demo", "make test", "make install", "make lint", "source .venv/bin/activate"}
    launched = {"torchrun --standalone --nproc_per_node 2 -m finetune run glue-mrpc"}  # test_distributed.py does
    assert set(others) == made | launched


@pytest.mark.parametrize("target", ["install", "demo", "test", "lint", "bench", "clean"])
def test_make_knows_its_targets(target: str) -> None:
    assert subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True).returncode == 0


def test_the_grid_of_contributing_is_that_of_the_paper() -> None:
    (block,) = blocks("toml")
    points = expand(parse({"task": "mrpc", **tomllib.loads(block)}, origin="CONTRIBUTING.md"), origin="CONTRIBUTING.md")
    assert len(points) == 18


def test_python_of_the_readme_loads_what_a_run_saves(
    place: Path, data: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = (block for block in blocks("python") if "pipeline" in block)
    monkeypatch.chdir(place)
    monkeypatch.setenv("FINETUNE_DATA", str(data.parent))
    assert run_in_process(["run", "glue-mrpc", f"model={tiny_bert}", *SMALL], monkeypatch) == 0
    (record, *_) = sorted(place.glob("results/mrpc/*/record.json"))
    found: dict[str, Any] = {}
    exec(block.replace("RUN", record.parent.name).replace("classify(", "answer = classify("), found)
    assert found["answer"]["label"] in ("equivalent", "not_equivalent")


def test_python_of_the_readme_asks_and_tags(
    place: Path, data: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = (block for block in blocks("python") if "finetune.load" in block)
    monkeypatch.chdir(place)
    monkeypatch.setenv("FINETUNE_DATA", str(data.parent))
    for recipe in ("squad-v2", "conll-2003"):
        assert run_in_process(["run", recipe, f"model={tiny_bert}", *SMALL], monkeypatch) == 0
    capsys.readouterr()
    exec(block, {})
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert len(eval(said[1])) == 5


def test_the_task_of_contributing_is_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_bert: Path) -> None:
    (source,) = (block for block in blocks("python") if 'name="headlines"' in block)
    (tmp_path / "headlines.py").write_text(source)
    (tmp_path / "headlines").mkdir()
    for split in ("train", "dev"):
        lines = [f'"{"cat" if i % 2 else "dog"}, {i}",{"serious" if i % 2 else "satirical"}' for i in range(16)]
        (tmp_path / "headlines" / f"{split}.csv").write_text("headline,label\n" + "\n".join(lines) + "\n")
    recipe = f'task = "headlines.py:headlines"\nmodel = "{tiny_bert}"\n[train]\nepochs = 1\n'
    (tmp_path / "headlines.toml").write_text(recipe)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FINETUNE_DATA", str(tmp_path))
    assert run_in_process(["run", "headlines.toml"], monkeypatch) == 0
    assert list(tmp_path.glob("results/headlines/*/record.json"))


def test_the_figures_of_the_readme_are_those_of_the_records() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import measured; print(measured.filled((measured.ROOT / 'README.md').read_text()), end='')",
        ],
        cwd=ROOT / "benchmarks",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / "README.md").read_text(encoding="utf-8")
    assert "STS-B" in done.stdout


def test_the_tree_of_the_readme_is_the_tree() -> None:
    tree = re.search(r"## What is where\n\n```\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert tree is not None
    named = set(re.findall(r"[\w/]+\.py", tree[1]))
    package = {file.relative_to(ROOT / "finetune").as_posix() for file in (ROOT / "finetune").rglob("*.py")}
    ours = {file for file in package if not file.startswith("tasks/") and not Path(file).name.startswith("__")}
    tasks = {file.name for file in (ROOT / "tasks").glob("[a-z]*.py")}
    assert named == ours | tasks
