"""The pages on custom tasks from their first file to their last command, and what plugins can get wrong."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.cli import exit_code
from support.encoders import SIZES, wordpiece
from support.pages import OWN_TASK, OWN_TASK_KO, SAVED
from transformers import BertConfig, BertModel

pytestmark = pytest.mark.nightly

COMMANDS = r"```bash\n(?P<commands>.*?)```"
Done = subprocess.CompletedProcess[str]


@dataclass
class Reader:
    """Who does what the document says, in a folder, with a place of their own for what pip installs."""

    place: Path
    site: Path
    done: dict[str, Done] = field(default_factory=dict)

    def follow(self, document: str) -> None:
        for step in re.finditer(f"{SAVED}|{COMMANDS}", document, re.DOTALL):
            if name := step["name"] or step["name_ko"]:
                (self.place / name).parent.mkdir(parents=True, exist_ok=True)
                (self.place / name).write_text(step["content"], encoding="utf-8")
            for line in (step["commands"] or "").splitlines():
                self.type(line.split("  #")[0].strip())

    def type(self, command: str) -> Done:
        program, *arguments = shlex.split(command)
        installed = any(self.site.iterdir())
        run = self.here if program == "finetune" and not installed else self.elsewhere
        self.done[command] = run(program, *arguments)
        return self.done[command]

    def here(self, _: str, *arguments: str) -> Done:
        """`finetune` without a new Python, whose imports take seconds."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.place)
            patch.syspath_prepend(self.site)
            patch.setenv("COLUMNS", "200")
            patch.setenv("FINETUNE_DATA", "")
            patch.setattr(sys, "argv", ["finetune", *arguments])
            code = exit_code()
        return subprocess.CompletedProcess([], code, out.getvalue(), err.getvalue())

    def elsewhere(self, program: str, *arguments: str) -> Done:
        ours = {
            "finetune": [sys.executable, "-m", "finetune"],
            "python": [sys.executable],
            "pip": [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"],
        }
        offline = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(self.site)]
        return subprocess.run(
            [*ours.get(program, [program]), *arguments, *(offline if program == "pip" else [])],
            cwd=self.place,
            env=os.environ
            | {
                "COLUMNS": "200",
                "PYTHONPATH": os.pathsep.join(filter(None, [str(self.site), os.environ.get("PYTHONPATH")])),
                "FINETUNE_DATA": "",
            },
            capture_output=True,
            text=True,
            timeout=300,
        )


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """After the last line of the document."""
    made = Reader(place=tmp_path_factory.mktemp("reader"), site=tmp_path_factory.mktemp("site"))
    made.follow(OWN_TASK.read_text(encoding="utf-8"))
    return made


@pytest.fixture
def plugin(reader: Reader, tmp_path: Path) -> Iterator[Callable[[str, str], Reader]]:
    """Leaves what pip leaves of a package with this code, next to the one of the document; who sees both."""
    names = ["finetune_urgency"]

    def install(name: str, code: str) -> Reader:
        names.append(name)
        site = tmp_path / "site"
        shutil.copytree(reader.site, site)
        (site / f"{name}.py").write_text(code)
        facts = site / f"{name}-0.1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
        (facts / "entry_points.txt").write_text(f"[finetune.tasks]\n{name} = {name}\n")
        return Reader(place=tmp_path, site=site)

    yield install
    for name in names:
        sys.modules.pop(name, None)


def records(reader: Reader) -> list[dict[str, Any]]:
    """In the order in which the runs ended; those of the same second too."""
    files = sorted(reader.place.glob("results/urgency/*/record.json"), key=lambda file: file.stat().st_mtime_ns)
    return [json.loads(file.read_text()) for file in files]


def test_every_command_of_the_document_succeeds(reader: Reader) -> None:
    failed = {command: done.stderr for command, done in reader.done.items() if done.returncode}
    assert failed == {}
    typed = [command.split()[:2] for command in reader.done]
    assert typed.count(["finetune", "run"]) == 3
    assert typed[-3:] == [["pip", "install"], ["finetune", "ls"], ["finetune", "run"]]


def test_every_block_of_the_document_is_a_file_or_commands(reader: Reader) -> None:
    text = OWN_TASK.read_text(encoding="utf-8")
    assert len(re.findall(f"{SAVED}|{COMMANDS}", text, re.DOTALL)) == text.count("```") / 2
    for name in ("tickets/train.jsonl", "tickets/dev.jsonl", "urgency.py", "urgency.toml", "use.py"):
        assert (reader.place / name).is_file()


def test_the_file_is_trained_and_better_than_the_majority(reader: Reader) -> None:
    first = records(reader)[0]
    assert (first["task"], first["rows"]) == ("urgency", {"train": 16, "dev": 6})
    assert first["recipe"]["task"] == "urgency.py:urgency"
    assert first["scores"]["dev"]["accuracy"] > first["baselines"]["dev"]["majority"]["accuracy"]
    shown = reader.done["finetune show urgency --predictions 6"].stdout
    assert "Site unreachable" in shown
    assert "can wait" in shown


def test_its_option_changes_the_labels(reader: Reader) -> None:
    """With `most=1` the ticket of priority 2 can wait."""
    _, second, _ = records(reader)
    assert second["options"]["most"] == 1
    assert second["baselines"]["dev"]["majority"]["accuracy"] == pytest.approx(4 / 6)
    scored = reader.done["finetune evaluate urgency urgency.py:urgency --data ."].stdout
    assert f"accuracy {100 * second['scores']['dev']['accuracy']:.1f}" in scored


def test_the_trained_model_answers_what_the_document_says(reader: Reader) -> None:
    assert "It prints `urgent`." in OWN_TASK.read_text(encoding="utf-8")
    assert reader.done["python use.py"].stdout == "urgent\n"


def test_the_readers_error_is_one_line(reader: Reader, tmp_path: Path) -> None:
    shutil.copy(reader.place / "urgency.py", tmp_path)
    (tmp_path / "tickets").mkdir()
    (tmp_path / "tickets" / "train.jsonl").write_text('{"id": 1, "subject": "a", "body": "b"}\n')
    visitor = Reader(place=tmp_path, site=tmp_path)
    done = visitor.here("finetune", "run", "glue-rte", "task=urgency.py:urgency", "model=minilm", "--data", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == (
        "error: tickets/train.jsonl:1: not a ticket (KeyError('priority')). It needs id, subject, body and priority"
    )


def test_the_plugin_is_found_by_its_name_alone(reader: Reader) -> None:
    assert re.search(r"urgency +│ accuracy, f1", reader.done["finetune ls"].stdout)
    third = records(reader)[-1]
    assert third["recipe"]["task"] == "urgency"
    assert third["scores"] == records(reader)[0]["scores"]  # the same rows, labels and seeds
    without = Reader(place=reader.place, site=reader.place).here("finetune", "ls")
    assert without.returncode == 0
    assert "accuracy, f1" in without.stdout
    assert not re.search(r"urgency +│ accuracy, f1", without.stdout)


@pytest.mark.parametrize(("name", "other"), [("urgency", "finetune_urgency.py"), ("mrpc", "glue.py")])
def test_two_tasks_of_one_name_are_an_error_that_names_both_files(
    plugin: Callable[[str, str], Reader], reader: Reader, name: str, other: str
) -> None:
    code = (reader.place / "urgency.py").read_text().replace('name="urgency"', f'name="{name}"')
    done = plugin("second", code).here("finetune", "ls")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith(f"error: two tasks are called '{name}': in ")
    assert done.stderr.endswith(". Rename one\n")
    assert other in done.stderr
    assert "second.py" in done.stderr


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("import nothing_of_that_name\n", "cannot be imported (ModuleNotFoundError: No module named"),
        ("TASKS = [\n", "cannot be imported (SyntaxError: "),
        ("raise RuntimeError('this line\\nand another')\n", "cannot be imported (RuntimeError: this line)"),
        ("tasks = []\n", "has no list of tasks. End the file with `TASKS = [...]`"),
    ],
)
def test_a_plugin_that_is_broken_is_named_in_one_line(
    plugin: Callable[[str, str], Reader], code: str, fault: str
) -> None:
    done = plugin("broken", code).here("finetune", "ls")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith("error: ")
    assert "broken" in done.stderr
    assert fault in done.stderr


def test_the_korean_page_is_followed_to_its_end(tmp_path: Path) -> None:
    """With a tiny encoder in place of the Korean one, which has to be downloaded."""
    encoder, site, place = (tmp_path / name for name in ("encoder", "site", "place"))
    for folder in (encoder, site, place):
        folder.mkdir()
    BertModel(BertConfig(vocab_size=wordpiece(encoder, "BertTokenizer"), **SIZES)).save_pretrained(encoder)
    text = OWN_TASK_KO.read_text(encoding="utf-8").replace("klue/bert-base", str(encoder))
    follower = Reader(place=place, site=site)
    follower.follow(text)
    assert {command: done.stderr for command, done in follower.done.items() if done.returncode} == {}
    assert follower.done["python use.py"].stdout in ("긴급\n", "일반\n")
    assert len(re.findall(f"{SAVED}|{COMMANDS}", text, re.DOTALL)) == text.count("```") / 2
    made = {record["options"]["most"]: record for record in records(follower)}  # both may end in the same second
    assert set(made) == {1, 2}
    assert all(record["rows"] == {"train": 12, "dev": 4} for record in made.values())
