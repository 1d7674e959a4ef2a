"""The commands and the Python of the documents: each can be parsed, and `make nightly` runs them all page by page."""

import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import typer
from support.cli import exit_code
from support.encoders import SIZES, wordpiece
from support.page_data import write_own_data
from support.pages import (
    CONTRIBUTING,
    DOCS,
    DOCUMENTS,
    KOREAN,
    OWN_DATA,
    README,
    SAME_COMMANDS,
    SERVE,
    SERVE_KO,
    blocks,
    commands,
    page_name,
    save_files,
)
from transformers import BertConfig, BertModel

from finetune.cli import app as cli
from finetune.commands import COMMANDS, FIRST, submission
from finetune.models import backbone
from finetune.training.targets import expand_targets, split_arguments

SMALL = ["train.epochs=1", "limit=16", "max_length=64"]
BEFORE = [  # what a reader of any one page has run on others
    *("run glue-mrpc", "run glue-mrpc frozen=true", "run glue-mrpc freeze_layers=1"),
    *("run squad-v1", "run conll-2003", "run reviews.csv"),
]
PROMISES = {"--risk"}  # which a few rows of dev cannot keep
TOO_FEW = ("cannot be promised from",)
EXAMPLES = [typed for listed in COMMANDS.values() for typed, _ in (*listed.examples, *FIRST)]  # of --help
READ_FIRST = {  # the commands of other pages run in `make nightly`
    *(README, DOCS / "index.md", KOREAN / "index.md", OWN_DATA, DOCS / "tutorials" / "first-run.md"),
    *(DOCS / "how-to" / name for name in ("many-runs.md", "troubleshooting.md")),
}


def typed(*documents: Path) -> list[str]:
    """The commands of pages that start with `finetune`."""
    return [line for line in commands(*documents) if line.startswith("finetune ")]


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of four layers, since some commands name the last four."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    size = wordpiece(folder, "BertTokenizer")
    config = BertConfig(vocab_size=size, max_position_embeddings=128, **SIZES | {"num_hidden_layers": 4})
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's own files that the pages speak of, and those that they tell to save."""
    folder = tmp_path_factory.mktemp("files")
    for page in DOCUMENTS:
        save_files(page, folder)
    write_own_data(folder)
    return folder


@pytest.mark.parametrize("command", [*dict.fromkeys([*typed(*DOCUMENTS), *EXAMPLES])])
def test_every_command_can_be_parsed_and_its_targets_exist(
    command: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of commands, options, recipes, tasks and settings, and the columns of files, without training."""
    monkeypatch.chdir(files)
    name, *arguments = shlex.split(command)[1:]
    for sign in "<>":
        file_after(sign, arguments)
    group = typer.main.get_command(cli.app)
    given = group.get_command(None, name).make_context(name, list(arguments)).params  # type: ignore[attr-defined]
    if name in ("run", "init"):
        targets, settings = split_arguments(given.get("targets") or [given["data"], *(given["settings"] or [])])
        made = {"my.toml": "reviews.csv", "honest.toml": "reviews.csv", "mine.toml": "glue-mrpc"}
        assert expand_targets([made.get(target, target) for target in targets], settings, seeds=given.get("seeds", 1))


@dataclass
class Reader:
    """Types the commands of a page, one after the other, with a tiny encoder, made-up data and few rows."""

    folder: Path
    data: Path  # of GLUE
    encoder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def type(self, command: str) -> str:
        """What the command prints; it may end with 1 only where it checks data, with 2 where dev has too few rows."""
        every = self.data.parent
        named = {"path/to/glue": self.data, "path/to/conll2003": every / "conll2003", "path/to/klue": every}
        for place, folder in named.items():
            command = command.replace(place, str(folder))
        arguments = shlex.split(command)
        read, written = file_after("<", arguments), file_after(">", arguments)
        arguments = [self._here(argument, arguments[0]) for argument in arguments]
        compares = arguments[0] == "check" and arguments[2:3] == ["new.csv"]  # with the rows of a run
        if arguments[0] in ("run", "check") and not compares:
            own = any(argument.startswith(("model=new:", "keep_labels=", "korean-encoder")) for argument in arguments)
            updates = any(argument.startswith("train.updates=") for argument in arguments)
            arguments += [*([] if own else [f"model={self.encoder}"]), *SMALL[updates:]]
            arguments += ["distil.weak=true"] * any(one.startswith("distil.teacher=") for one in arguments)
        if arguments[0] == "search":  # whose spaces have numbers of epochs
            arguments += [f"model={self.encoder}", "limit=16", "max_length=64"]
        if "--fix" in arguments:
            Path(arguments[arguments.index("--fix") + 1]).unlink(missing_ok=True)
        if read is not None:
            self.monkeypatch.setattr(sys, "stdin", io.StringIO(read.read_text(encoding="utf-8")))
        self.capsys.readouterr()
        has_findings = arguments[0] == "check" and Path(arguments[1]).exists()  # some, in rows made of so few words
        self.monkeypatch.setattr(sys, "argv", ["finetune", *arguments])
        code = exit_code()
        printed = self.capsys.readouterr()
        if code == 2 and PROMISES & {*arguments} and any(few in printed.err for few in TOO_FEW):
            return printed.err
        codes = (0, 3) if compares else (0, 1) if has_findings else (0,)
        assert code in codes, (command, printed.err)
        if written is not None:
            written.write_text(printed.out, encoding="utf-8")
        if read is not None:
            answers = [json.loads(line)["prediction"] for line in printed.out.splitlines()]
            assert len(answers) == len(read.read_text(encoding="utf-8").splitlines()), command
        if "-o" in arguments:
            assert Path(arguments[arguments.index("-o") + 1]).stat().st_size > 0, command
        return printed.out

    def _here(self, argument: str, command: str) -> str:
        """An argument with the tiny encoder for any other, and the id of a run for A, B and RUN."""
        if argument.startswith("model=new:"):
            return "model=new:1x32x1"
        if argument.startswith("model=") and not argument.endswith(".csv"):  # the run on a file
            return f"model={self.encoder}"
        if argument == "distil.teacher=RUN":
            return f"distil.teacher={self._runs('reviews.csv')[0]['id']}"
        if argument.startswith("train.updates="):
            return "train.updates=2"
        if argument.startswith("keep_layers="):
            return "keep_layers=[1,3]"
        if argument == "minilm":
            return str(self.encoder)
        if argument == "RUN":
            own = command in ("predict", "explain") and self._runs("reviews.csv")
            return self._runs("reviews.csv" if own else "mrpc")[0]["id"]
        if argument == "부정":  # a label of the Korean pages' reviews, which are English here
            return "bad"
        if argument in ("A", "B", "C"):
            kind = {"A": (True, 0), "B": (False, 0), "C": (False, 1)}[argument]
            given = {(run["recipe"]["frozen"], run["recipe"]["freeze_layers"]): run["id"] for run in self._runs("mrpc")}
            return given[kind]
        return argument

    def _runs(self, task: str) -> list[dict[str, Any]]:
        return [json.loads(file.read_text()) for file in sorted(self.folder.glob(f"results/{task}/*/record.json"))]


@pytest.fixture
def reader(
    tmp_path: Path,
    page_data: Path,
    tiny_bert: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Reader]:
    """Someone in a new folder with the files that the pages speak of."""
    write_own_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FINETUNE_DATA", str(page_data.parent))
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(backbone, "LSTM_WIDTH", 24)
    monkeypatch.setattr(submission, "FILES", tuple(replace(file, rows=20) for file in submission.FILES))
    yield Reader(tmp_path, page_data, tiny_bert, monkeypatch, capsys)


@pytest.fixture
def experienced(reader: Reader, before: Path) -> Reader:
    """A reader who has typed the commands of BEFORE, for all pages once."""
    if not before.exists():
        for command in BEFORE:
            reader.type(command)
        shutil.copytree(reader.folder / "results", before)
    shutil.copytree(before, reader.folder / "results", dirs_exist_ok=True)
    return reader


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of BEFORE are, once a page has needed them."""
    return tmp_path_factory.mktemp("before") / "results"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page in READ_FIRST else pytest.mark.nightly)
        for page in DOCUMENTS
        if typed(page) and page not in (*SAME_COMMANDS, SERVE)
    ],
    ids=page_name,
)
def test_the_commands_and_the_python_of_a_page_run_one_after_the_other(
    page: Path, experienced: Reader, request: pytest.FixtureRequest
) -> None:
    if any(line.startswith("finetune push ") for line in typed(page)):
        request.getfixturevalue("hub")
    save_files(page, experienced.folder)
    printed = [experienced.type(line.removeprefix("finetune ")) for line in typed(page)]
    assert printed and not [text for text in printed if "Traceback" in text]
    names = dict[str, Any]()
    for block in blocks("python", page) if page not in (README, CONTRIBUTING) else []:
        exec(block, names)


def test_every_other_command_is_one_that_a_test_knows() -> None:
    pages = [page for page in DOCUMENTS if page not in (SERVE, SERVE_KO)]
    others = [command for command in commands(*pages) if not command.startswith("finetune ")]
    made = re.compile(r"make \w[\w-]*|source \.venv/bin/activate")  # targets: test_pages.py
    launched = {"torchrun --standalone --nproc_per_node 2 -m finetune run glue-mrpc"}  # system/test_two_processes.py
    launched |= {"OMP_NUM_THREADS=1 finetune run glue-mrpc --seeds 2 --no-wait"}  # a thread each of two at once
    assert {command for command in others if not made.fullmatch(command)} == launched


def test_python_of_the_readme_loads_what_a_run_saves(reader: Reader) -> None:
    (block,) = blocks("python", README)
    reader.type("run glue-mrpc")
    (file,) = reader.folder.glob("results/mrpc/*/model/model.safetensors")
    found: dict[str, Any] = {}
    exec(block.replace("RUN", file.parents[1].name).replace("classify(", "answer = classify("), found)
    assert found["answer"]["label"] in ("equivalent", "not_equivalent")


def test_the_task_of_contributing_is_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_bert: Path) -> None:
    (source,) = (block for block in blocks("python", CONTRIBUTING) if 'name="headlines"' in block)
    (tmp_path / "headlines.py").write_text(source)
    (tmp_path / "headlines").mkdir()
    lines = [f'"{"cat" if i % 2 else "dog"}, {i}",{"serious" if i % 2 else "satirical"}' for i in range(16)]
    for split in ("train", "dev"):
        (tmp_path / "headlines" / f"{split}.csv").write_text("\n".join(["headline,label", *lines]) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FINETUNE_DATA", str(tmp_path))
    settings = ["task=headlines.py:headlines", f"model={tiny_bert}", "train.epochs=1"]
    monkeypatch.setattr(sys, "argv", ["finetune", "run", "glue-rte", *settings])
    assert exit_code() == 0
    assert list(tmp_path.glob("results/headlines/*/record.json"))


def file_after(sign: str, arguments: list[str]) -> Path | None:
    """The file that follows `<` or `>`, which both leave the arguments."""
    if sign not in arguments:
        return None
    where = arguments.index(sign)
    _, name = arguments[where : where + 2]
    del arguments[where : where + 2]
    return Path(name)
