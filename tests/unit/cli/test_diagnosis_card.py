"""The card of a diagnosis in `show`, the report and the Python API; its command runs as it is printed."""

import shlex
from html import unescape
from pathlib import Path

import pytest
from support.cli import Finetune
from support.runs import FinishedRun, as_csv

import finetune
from finetune.runs.record_files import load_record

ROWS = [(f"the {'cat' if i % 2 else 'dog'} sat {i}", "good" if i % 2 else "bad") for i in range(400)]
GIVEN = ("label=my mark", "max_length=16", "train.batch_size=32", "train.epochs=2", "train.learning_rate=1e-9")


def card(text: str) -> list[str]:
    """The lines of the card: cause, evidence, command."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("diagnosis: "))
    return [line.strip() for line in lines[start : start + 3]]


def test_each_place_has_the_same_card_and_its_command_runs(
    here: Finetune, tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my rows.csv").write_text(as_csv(("words", "my mark"), *ROWS))
    given = ("my rows.csv", *GIVEN, f"model={tiny_bert}", "--out", "my runs", "--device", "cpu")
    done = here("run", *given)
    assert "finetune show " in done.stdout.partition("next:")[2], done.stdout + done.stderr
    shown = here("show", "my rows.csv", "--out", "my runs").stdout
    name, evidence, command = card(shown)
    assert name == "diagnosis: loss never fell" and "1e-09" in evidence, shown
    assert shown.index("diagnosis: ") < shown.index("Dev macro f1")
    assert set(shlex.split(command)) == {"finetune", "run", *given[:-2], "train.learning_rate=0.001"} - {
        "train.learning_rate=1e-9"
    }
    found = finetune.open_run("my rows.csv", out="my runs")
    assert str(found.diagnosis).startswith(f"loss never fell: {evidence}")
    assert found.diagnosis.command == command
    page = unescape(Path(found.report(tmp_path / "report.html")).read_text(encoding="utf-8"))
    assert "<strong>Loss never fell</strong>" in page and "train.learning_rate=0.001" in page
    assert str(tmp_path) not in page
    again = here(*shlex.split(command)[1:])
    assert again.returncode == 0, again.stderr
    records = [load_record(file) for file in tmp_path.glob("my runs/*/*/record.json")]
    assert sorted(one.recipe["train"]["learning_rate"] for one in records) == [1e-9, 1e-3]
    assert {one.recipe["train"]["epochs"] for one in records} == {2}


def test_the_command_repeats_the_folder_of_the_data_once(
    here: Finetune, tmp_path: Path, rte: Path, tiny_bert: Path
) -> None:
    here("run", "glue-rte", "train.epochs=1", "train.learning_rate=1e-9", f"model={tiny_bert}", "--data", rte)
    command = card(here("show", "rte").stdout)[2]
    assert shlex.split(command)[-2:] == ["--data", f"./{rte.name}"] and command.count("--data") == 1, command
    page = unescape((tmp_path / finetune.open_run("rte").report(tmp_path / "report.html")).read_text(encoding="utf-8"))
    assert f"--data ./{rte.name}" in page and str(rte) not in page
    assert here(*shlex.split(command)[1:]).returncode == 0


def test_a_note_that_the_card_says_is_not_printed_again(here: Finetune, finished_run: FinishedRun) -> None:
    shown = here("show", finished_run("sentence")).stdout
    assert card(shown)[0] == "diagnosis: dev too small to tell"
    assert "too few to tell" not in shown.partition("diagnosis")[2].partition("finetune run")[2]
