"""Messages of the library name arguments as in Python; the command line prints them as options."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.paths import ROOT
from support.runs import FinishedRun

from finetune.cli.options import set_options, with_options

OPTION = re.compile(r"(?<![\w-])--[a-z]|(?<!\S)-o\b")
NOT_OURS = (
    "rev-parse",
    "--short=12",
    "--porcelain",
    "--untracked-files=no",
    "--signal=INT",
    "pip install",
    "curl -L",
    "finetune ",
)
IN_COMMANDS = {  # commands that are shown
    *("diagnosis.py", "folder.py", "gone.py", "run_figures.py", "run_facts.py"),
    *("columns.py", "parameters.py", "all_checks.py", "encoder_size.py"),
}


def texts_of(file: Path) -> Iterator[str]:
    """The strings of a module that are not docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    described = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.value


def test_the_library_speaks_of_no_option_of_the_command_line() -> None:
    every = (ROOT / "finetune").rglob("*.py")
    files = [file for file in every if not {"cli", "commands"}.intersection(file.parts)]
    found = [(file.name, text) for file in files for text in texts_of(file) if OPTION.search(text)]
    assert len(files) > 200
    assert {file for file, text in found if not any(known in text for known in NOT_OURS)} == IN_COMMANDS


def test_an_argument_of_the_called_command_is_printed_as_an_option() -> None:
    set_options(["--force", "--data-sizes", "-o"])
    text = "run it with `force` and `data_sizes` in `data_folder`, not with `seed` or `o`"
    assert with_options(text) == "run it with `--force` and `--data-sizes` in `--data`, not with `seed` or `o`"


def test_an_error_of_a_command_names_its_option(in_process: InProcess, tmp_path: Path) -> None:
    code, _, err = in_process("table", "squad", "--out", "nowhere", "--form", "paper", data=tmp_path)
    assert code == 2
    assert_error(err, "`--form`")


def test_a_note_of_a_command_names_its_option(in_process: InProcess, tmp_path: Path) -> None:
    code, _, err = in_process("table", "glue", "--out", "nowhere", data=tmp_path)
    assert code == 0
    assert err.startswith("note: no finished run in nowhere")
    assert "`--out`" in err


def test_a_quiet_evaluation_writes_nothing_to_standard_error(
    in_process: InProcess, finished_run: FinishedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.csv").write_text("review,mark\n" + "the cat sat,good\nthe dog sat,bad\n" * 4)
    command = ("evaluate", str(finished_run("sentence")), "new.csv")
    capsys.readouterr()  # what training the run wrote
    code, out, err = in_process(*command, "--quiet", "--json", data=tmp_path)
    assert (code, err, set(json.loads(out))) == (0, "", {"dev"}), out


def test_runs_and_tables_are_printed_as_json(in_process: InProcess, finished_run: FinishedRun, tmp_path: Path) -> None:
    run = finished_run("sentence")
    code, out, _ = in_process("ls", "--json", "--out", str(run.parents[1]), data=tmp_path)
    assert code == 0 and run.name in [json.loads(line)["id"] for line in out.splitlines()]
    code, out, _ = in_process("table", "choice", "--json", "--out", "nowhere", data=tmp_path)
    assert [json.loads(line)["row"] for line in out.splitlines()][:2] == ["SWAG", "SWAG"]
