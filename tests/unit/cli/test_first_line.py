"""`finetune run` says what it does before anything is imported that takes long."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from finetune.cli import first_line
from finetune.cli.first_line import say_first

IMPORTED = re.compile(r"import time: .*\| *(numpy|sklearn|torch|transformers)\b")


def reviews(folder: Path) -> Path:
    """A file of two rows."""
    file = folder / "reviews.csv"
    file.write_text("text,label\nA fine film.,good\nA dull film.,bad\n")
    return file


def test_comes_before_numpy_is_imported(tmp_path: Path) -> None:
    reviews(tmp_path)
    command = [sys.executable, "-X", "importtime", "-m", "finetune", "run", "reviews.csv", "label=stars"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=os.environ)
    lines = done.stderr.splitlines()
    assert done.returncode == 2, done.stderr  # no such column
    imported = [place for place, line in enumerate(lines) if IMPORTED.match(line)]
    assert lines.index("reading reviews.csv") < imported[0]


@pytest.mark.parametrize(
    "arguments", [["glue-mrpc", "--out", "here"], ["glue-mrpc", "seed=3"], ["nothing", "glue-mrpc"]]
)
def test_names_what_is_there(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    say_first("reading", arguments)
    assert capsys.readouterr() == ("", "reading glue-mrpc\n")


def test_has_the_size_of_a_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = reviews(tmp_path)
    monkeypatch.setattr(first_line, "MEGABYTE", 10)
    say_first("reading", [str(file), "dev=here.csv"])
    assert capsys.readouterr().err.split("/")[-1] == f"reviews.csv, {file.stat().st_size / 10:.0f} MB\n"


@pytest.mark.parametrize("option", ["--quiet", "-q", "--json", "--help"])
def test_is_silent_for_scripts(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    say_first("reading", ["glue-mrpc", option])
    say_first("reading", ["no-such-recipe", "a\0b", "x" * 5000])
    assert capsys.readouterr() == ("", "")


def test_only_one_of_several_processes_speaks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "1")
    say_first("reading", ["glue-mrpc"])
    assert capsys.readouterr().err == ""
