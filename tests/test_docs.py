"""The documents are true: their commands run, their figures are the records', the files they name exist."""

import io
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import SIZES, wordpiece
from toys import sentences, span_task, write_columns, write_squad, write_swag
from transformers import BertConfig, BertModel

from finetune.cli import app as cli
from finetune.data.reading import read_table
from finetune.data.source import Source
from finetune.inference import glue_submission as submission
from finetune.models import layer_mix as reader
from finetune.runs.grid import expand
from finetune.runs.recipe import parse
from finetune.task_types.guess import guess
from finetune.task_types.own_data import usable_rows
from finetune.task_types.types import data_types

ROOT = Path(__file__).resolve().parents[1]
OWN_TASK = ROOT / "docs" / "your-own-task.md"  # test_own_task.py runs all of it
README, CONTRIBUTING, OWN_DATA = ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "your-data.md"
README_KO, OWN_DATA_KO = README.with_suffix(".ko.md"), OWN_DATA.with_suffix(".ko.md")
DOCUMENTS = [README, CONTRIBUTING, README_KO, *sorted({*(ROOT / "docs").glob("*.md")} - {OWN_TASK})]
COMMANDS, COMPARING, RESULTS = (ROOT / "docs" / f"{name}.md" for name in ("commands", "comparing", "results"))
SMALL = ["train.epochs=1", "limit=16", "max_length=64"]
EXAMPLE = r"`([\w.]+)`, (?:shape|종류) `([\w-]+)`.*?```\w+\n(.*?)```"  # of a file in docs/your-data.md


def blocks(language: str, *documents: Path) -> list[str]:
    """All code blocks of a language."""
    texts = [document.read_text(encoding="utf-8") for document in documents]
    return [block for text in texts for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def commands(*documents: Path) -> list[str]:
    """Every shell command, without its comment."""
    lines = [line.split("  #")[0].strip() for block in blocks("bash", *documents) for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line))


def run_in_process(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["finetune", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of four layers, since some commands name the last four."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    size = wordpiece(folder, "BertTokenizer")
    config = BertConfig(vocab_size=size, max_position_embeddings=128, **SIZES | {"num_hidden_layers": 4})
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A BiLSTM for toys, and a cache that is thrown away."""
    monkeypatch.setattr(reader, "LSTM_WIDTH", 24)
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


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


def write_own_data(folder: Path) -> None:
    """The files that docs/your-data.md and its Korean page speak of."""
    texts = [f"{'good' if row % 2 else 'bad'} {text}" for row, text in enumerate(sentences(24))]
    halves = [(row, text, row % 2) for row, text in enumerate(texts)]
    reviews = ["text,label", *(f"{text},{'good' if mark else 'bad'}" for _, text, mark in halves)]
    ratings = ["id\tdocument\tlabel", *(f"{row}\t{text} 영화\t{mark}" for row, text, mark in halves)]
    pairs = ["sentence1\tsentence2\tscore", *(f"{text}\t한 남자\t{row / 10}" for row, text, _ in halves)]
    tickets = [f"{text},{text} again,{'abc'[row % 3]},u{row % 8}" for row, text, _ in halves]
    parts = {
        f"{split}.csv": [reviews[0], *reviews[1 + number :: 3]] for number, split in enumerate(("train", "dev", "test"))
    }
    files = {
        **{f"{place}{name}": lines for place in ("", "data/reviews/") for name, lines in parts.items()},
        **{f"path/to/korsts/sts-{split}.tsv": pairs for split in ("train", "dev", "test")},
        **{f"path/to/nsmc/ratings_{split}.txt": ratings for split in ("train", "test")},
        "reviews.csv": reviews,
        "ratings.csv": [line.replace("\t", ",") for line in ratings],
        "stars.csv": ["text,stars", *(f"{text},{1 + row % 5}" for row, text, _ in halves)],
        "tickets.csv": ["title,body,topic,user_id", *tickets],
        "new.csv": ["text", *texts],
        "other.csv": ["comment", *texts],
        "lines.txt": texts,
        "sentence-pairs.txt": [f"{text}\t한 남자" for text in texts],
    }
    for name, lines in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a reader types the commands, one after the other."""
    folder = tmp_path_factory.mktemp("reader")
    write_own_data(folder)
    return folder


def file_after(sign: str, arguments: list[str]) -> Path | None:
    """The file that follows `<` or `>`, which both leave the arguments."""
    if sign not in arguments:
        return None
    where = arguments.index(sign)
    _, name = arguments[where : where + 2]
    del arguments[where : where + 2]
    return Path(name)


@pytest.mark.parametrize("command", [line for line in commands(*DOCUMENTS) if line.startswith("finetune ")])
def test_every_command_of_the_documents_runs(
    command: str,
    data: Path,
    place: Path,
    tiny_bert: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With a tiny encoder and made-up data in the place of real ones, and few rows; in the order of the documents."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("FINETUNE_DATA", str(data.parent))
    monkeypatch.setattr(submission, "FILES", tuple(replace(file, rows=20) for file in submission.FILES))
    command = command.replace("path/to/glue", str(data)).replace("path/to/conll2003", str(data.parent / "conll2003"))
    arguments = shlex.split(command)[1:]
    read, written = file_after("<", arguments), file_after(">", arguments)
    (place / "predictions.json").write_text(
        json.dumps({row.id: "moon" for row in span_task().load(Source(), "dev").rows})
    )
    arguments = [f"model={tiny_bert}" if argument.startswith("model=") else argument for argument in arguments]
    arguments = [str(tiny_bert) if argument == "minilm" else argument for argument in arguments]
    if arguments[0] in ("run", "check"):
        arguments += [f"model={tiny_bert}", *SMALL]
    if "--discard-half" in arguments:
        arguments += ["train.epochs=2"]
    if arguments[0] == "compare":
        arguments = [frozen_and_not(place).get(argument, argument) for argument in arguments]
    if "RUN" in arguments:
        run_of = "reviews.csv" if arguments[0] == "predict" else "mrpc"
        (record, *_) = sorted(place.glob(f"results/{run_of}/*/record.json"))
        arguments = [record.parent.name if argument == "RUN" else argument for argument in arguments]
    if "--fix" in arguments:
        Path(arguments[arguments.index("--fix") + 1]).unlink(missing_ok=True)
    if read is not None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(read.read_text(encoding="utf-8")))
    has_findings = arguments[0] == "check" and Path(arguments[1]).exists()  # some, in rows made of so few words
    assert run_in_process(arguments, monkeypatch) in ((0, 1) if has_findings else (0,))
    said = capsys.readouterr().out
    if written is not None:
        written.write_text(said, encoding="utf-8")
    if read is not None:
        answers = [json.loads(line)["answer"] for line in said.splitlines()]
        assert len(answers) == len(read.read_text(encoding="utf-8").splitlines())
    if "-o" in arguments:
        assert Path(arguments[arguments.index("-o") + 1]).stat().st_size > 0


def frozen_and_not(place: Path) -> dict[str, str]:
    """Runs of MRPC for A and B: one on a frozen encoder, and one that is fine-tuned."""
    runs = [json.loads(file.read_text()) for file in sorted(place.glob("results/mrpc/*/record.json"))]
    frozen = [run["id"] for run in runs if run["recipe"]["frozen"]]
    return {"A": frozen[0], "B": next(run["id"] for run in runs if not run["recipe"]["frozen"])}


@pytest.mark.parametrize(
    "script",
    [
        "against_trainer.py",
        "cpu_parts.py",
        "squad_postprocessing.py",
        "rates.py",
        "cached_epochs.py",
        "false_positives.py",
    ],
)
def test_benchmarks_still_fit_the_package(script: str) -> None:
    done = subprocess.run([sys.executable, script, "--help"], cwd=ROOT / "benchmarks", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--out" in done.stdout


def test_every_other_command_is_one_that_a_test_knows() -> None:
    others = [command for command in commands(*DOCUMENTS) if not command.startswith("finetune ")]
    made = {"make demo", "make test", "make install", "make lint", "source .venv/bin/activate"}
    launched = {"torchrun --standalone --nproc_per_node 2 -m finetune run glue-mrpc"}  # test_distributed.py does
    assert set(others) == made | launched


@pytest.mark.parametrize("target", ["install", "demo", "test", "lint", "bench", "clean"])
def test_make_knows_its_targets(target: str) -> None:
    assert subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True).returncode == 0


def test_the_grid_of_contributing_is_that_of_the_paper() -> None:
    (block,) = blocks("toml", CONTRIBUTING)
    points = expand(parse({"task": "mrpc", **tomllib.loads(block)}, origin="CONTRIBUTING.md"), origin="CONTRIBUTING.md")
    assert len(points) == 18


def test_python_of_the_readme_loads_what_a_run_saves(
    place: Path, data: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = blocks("python", README)
    monkeypatch.chdir(place)
    monkeypatch.setenv("FINETUNE_DATA", str(data.parent))
    assert run_in_process(["run", "glue-mrpc", f"model={tiny_bert}", *SMALL], monkeypatch) == 0
    (file, *_) = sorted(place.glob("results/mrpc/*/model/model.safetensors"))
    found: dict[str, Any] = {}
    exec(block.replace("RUN", file.parents[1].name).replace("classify(", "answer = classify("), found)
    assert found["answer"]["label"] in ("equivalent", "not_equivalent")


def test_python_of_the_page_on_commands_asks_and_tags(
    place: Path, data: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = blocks("python", COMMANDS)
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
    (source,) = (block for block in blocks("python", CONTRIBUTING) if 'name="headlines"' in block)
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


@pytest.mark.parametrize("page", [OWN_DATA, OWN_DATA_KO], ids=lambda page: page.name)
def test_python_of_the_pages_on_data_answers(
    page: Path,
    place: Path,
    data: Path,
    tiny_bert: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (block,) = blocks("python", page)
    monkeypatch.chdir(place)
    monkeypatch.setenv("FINETUNE_DATA", str(data.parent))
    (trained,) = re.findall(r'finetune.load\("(.*?)"\)', block)
    assert run_in_process(["run", trained, f"model={tiny_bert}", *SMALL], monkeypatch) == 0
    capsys.readouterr()
    exec(block, {})
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3
    assert {*said} <= {"good", "bad", "0", "1"}


@pytest.mark.parametrize("page", [OWN_DATA, OWN_DATA_KO], ids=lambda page: page.name)
def test_every_example_of_a_file_is_read_as_the_page_says(page: Path, tmp_path: Path) -> None:
    """The shape that stands before it, and every row of it can be used."""
    shown = re.findall(EXAMPLE, page.read_text(encoding="utf-8"), re.DOTALL)
    for name, shape, content in shown:
        (tmp_path / name).write_text(content, encoding="utf-8")
        table = read_table(tmp_path / name)
        layout = guess(table, {})
        assert layout.shape == shape, name
        rows, notes = usable_rows(layout, table)
        assert (len(rows), notes) == (len(table), []), name
        assert layout.label, name
    assert {shape for _, shape, _ in shown} == set(data_types())
    assert len(shown) == len(re.findall(r"^\*\*.*?\*\*: `", page.read_text(encoding="utf-8"), re.MULTILINE))


def forms(document: Path) -> set[tuple[str, ...]]:
    """Its finetune commands without the names of files and runs: `run class_weight=`, `predict - <`."""
    found = set()
    for command in commands(document):
        program, name, *words = shlex.split(command)
        signs = (re.match(r"[\w.]+=|-.*|[<>]", word) for word in words)
        if program == "finetune":
            found.add((name, *sorted(sign[0] for sign in signs if sign)))
    return found


def test_the_korean_readme_has_the_commands_and_code_of_the_readme() -> None:
    assert set(commands(README_KO)) == set(commands(README))
    code = [
        [[line.split("  #")[0] for line in block.splitlines()] for block in blocks("python", page)]
        for page in (README, README_KO)
    ]
    assert code[0] == code[1]
    figures = [re.findall(r"<!-- (\w+) -->", page.read_text(encoding="utf-8")) for page in (README, README_KO)]
    assert figures == [["demo", "headlines"]] * 2


def test_the_korean_page_on_data_has_every_kind_of_command() -> None:
    assert forms(OWN_DATA_KO) - {("run", "model=")} == forms(OWN_DATA) - {("run", "model=")}
    assert ("run", "model=") in forms(OWN_DATA_KO) & forms(OWN_DATA)
    assert {name for name, *_ in forms(OWN_DATA)} == {"check", "init", "run", "predict", "show", "ls"}


def links(document: Path) -> Iterator[tuple[Path, str]]:
    """(file, anchor) of every link that stays in the repository."""
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]*)\)", document.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        yield (document.parent / name if name else document), anchor


def anchors(document: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    without_code = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", without_code, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [*DOCUMENTS, OWN_TASK], ids=lambda document: document.name)
def test_every_link_within_the_repository_leads_somewhere(document: Path) -> None:
    linked = list(links(document))
    assert [file for file, _ in linked if not file.exists()] == []
    assert [(file.name, anchor) for file, anchor in linked if anchor and anchor not in anchors(file)] == []
    assert linked or document == CONTRIBUTING


def test_the_pages_are_linked_from_the_readme() -> None:
    linked = {file.resolve() for file, _ in links(README)}
    assert {CONTRIBUTING, README_KO, *(ROOT / "docs").glob("*.md")} - {OWN_DATA_KO} <= linked
    assert OWN_DATA_KO in {file.resolve() for file, _ in links(README_KO)} & {
        file.resolve() for file, _ in links(OWN_DATA)
    }


def test_the_figures_of_the_documents_are_those_of_the_records() -> None:
    pages = [README, README_KO, OWN_DATA, OWN_DATA_KO, COMPARING, RESULTS]
    filled = (
        "import sys, measured; [print(measured.filled(open(name, encoding='utf-8').read())) for name in sys.argv[1:]]"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", filled, *map(str, pages)],
        cwd=ROOT / "benchmarks",
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(f"{page.read_text(encoding='utf-8')}\n" for page in pages)
    assert "STS-B" in done.stdout


@pytest.mark.parametrize("page", [README, README_KO], ids=lambda page: page.name)
def test_the_readme_fits_two_screens_and_names_every_package(page: Path) -> None:
    """A line for each package, and no file or folder that does not exist."""
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 110
    (tree,) = re.findall(r"```\nfinetune/\n(.*?)```", text, re.DOTALL)
    rooms = [line.split(maxsplit=1) for line in tree.splitlines() if line.startswith("  ")]
    packages = {file.parent.name for file in (ROOT / "finetune").glob("*/__init__.py")} - {"tasks"}
    assert {name for name, _ in rooms} == {f"{package}/" for package in packages} | {"errors.py"}
    for name, line in rooms:
        for inside in re.findall(r"[\w/]+(?:/|\.py)(?![\w.])", line):
            assert (ROOT / "finetune" / name / inside).exists(), (name, inside)
    outside = [line for line in tree.splitlines() if not line.startswith("  ")]
    assert all((ROOT / name).is_dir() for line in outside for name in re.findall(r"\w+/", line))


@pytest.mark.parametrize("document", [*DOCUMENTS, OWN_TASK], ids=lambda document: document.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"`((?:finetune|tasks|recipes|tests|benchmarks|docs)/[\w./-]*)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
