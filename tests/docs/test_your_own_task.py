"""The pages on custom tasks from their first file to their last command, and what plugins can get wrong."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.encoders import write_bert
from support.pages import OWN_TASK, OWN_TASK_KO, SAVED

pytestmark = pytest.mark.nightly

STEP = rf"{SAVED}|```bash\n(?P<commands>.*?)```"
Done = subprocess.CompletedProcess[str]
PROGRAMS = {
    "finetune": [sys.executable, "-m", "finetune"],
    "python": [sys.executable],
    "pip": [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"],
}


@dataclass
class Reader:
    """Who does what the document says, in a folder, with a place of their own for what pip installs."""

    place: Path
    site: Path
    done: dict[str, Done] = field(default_factory=dict)

    def follow(self, document: str) -> None:
        """Saves and types all that the document says: each of its blocks is a file or commands."""
        steps = [*re.finditer(STEP, document, re.DOTALL)]
        assert len(steps) == document.count("```") / 2
        for step in steps:
            if name := step["name"] or step["name_ko"]:
                (self.place / name).parent.mkdir(parents=True, exist_ok=True)
                (self.place / name).write_text(step["content"], encoding="utf-8")
            for line in (step["commands"] or "").splitlines():
                self.type(line.split("  #")[0].strip())
        assert {command: done.stderr for command, done in self.done.items() if done.returncode} == {}

    def type(self, command: str) -> Done:
        program, *arguments = shlex.split(command)
        offline = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(self.site)]
        path = [str(self.site), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.done[command] = subprocess.run(
            [*PROGRAMS.get(program, [program]), *arguments, *(offline if program == "pip" else [])],
            cwd=self.place,
            env=os.environ | {"COLUMNS": "200", "PYTHONPATH": os.pathsep.join(path), "FINETUNE_DATA": ""},
            capture_output=True,
            text=True,
            timeout=300,
        )
        return self.done[command]

    def records(self) -> list[dict[str, Any]]:
        """In the order in which the runs ended; those of the same second too."""
        files = sorted(self.place.glob("results/urgency/*/record.json"), key=lambda file: file.stat().st_mtime_ns)
        return [json.loads(file.read_text()) for file in files]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """After the last line of the document."""
    made = Reader(place=tmp_path_factory.mktemp("reader"), site=tmp_path_factory.mktemp("site"))
    made.follow(OWN_TASK.read_text(encoding="utf-8"))
    return made


def test_the_commands_of_the_document_train_a_task_with_an_option_and_then_as_a_plugin(reader: Reader) -> None:
    first, second, third = reader.records()
    assert (first["task"], first["rows"]) == ("urgency", {"train": 16, "dev": 6})
    assert [one["recipe"]["task"] for one in (first, third)] == ["urgency.py:urgency", "urgency"]
    assert first["scores"]["dev"]["accuracy"] > first["baselines"]["dev"]["majority"]["accuracy"]
    assert third["scores"] == first["scores"]  # the same rows, labels and seeds
    assert second["options"]["most"] == 1  # the ticket of priority 2 can wait
    assert second["baselines"]["dev"]["majority"]["accuracy"] == pytest.approx(4 / 6)
    scored = reader.done["finetune evaluate urgency urgency.py:urgency --data ."].stdout
    assert f"accuracy {100 * second['scores']['dev']['accuracy']:.1f}" in scored
    assert "It prints `urgent`." in OWN_TASK.read_text(encoding="utf-8")
    assert reader.done["python use.py"].stdout == "urgent\n"
    assert re.search(r"urgency +│ accuracy, f1", reader.done["finetune ls"].stdout)
    without = Reader(place=reader.place, site=reader.place).type("finetune ls")
    assert without.returncode == 0 and not re.search(r"urgency +│ accuracy, f1", without.stdout)


def test_the_korean_page_is_followed_to_its_end(tmp_path: Path) -> None:
    """With a tiny encoder in place of the Korean one, which has to be downloaded."""
    encoder, site, place = (tmp_path / name for name in ("encoder", "site", "place"))
    for folder in (encoder, site, place):
        folder.mkdir()
    write_bert(encoder)
    follower = Reader(place=place, site=site)
    follower.follow(OWN_TASK_KO.read_text(encoding="utf-8").replace("klue/bert-base", str(encoder)))
    assert follower.done["python use.py"].stdout in ("긴급\n", "일반\n")
    made = {record["options"]["most"]: record for record in follower.records()}  # both may end in the same second
    assert set(made) == {1, 2}
    assert all(record["rows"] == {"train": 12, "dev": 4} for record in made.values())
