"""Messages of the library name arguments as in Python; the command line prints them as options."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.paths import ROOT

from finetune.cli.options import with_options

OPTION = re.compile(r"(?<![\w-])--[a-z]|(?<!\S)-o\b")
NOT_OURS = ("rev-parse", "--short=12", "--porcelain", "--untracked-files=no", "pip install", "finetune ")
IN_COMMANDS = {"paper_table_formats.py", "use.py"}  # commands that a page shows


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
    files = [file for file in (ROOT / "finetune").rglob("*.py") if "cli" not in file.parts]
    found = [(file.name, text) for file in files for text in texts_of(file) if OPTION.search(text)]
    assert len(files) > 200
    assert {file for file, text in found if not any(known in text for known in NOT_OURS)} == IN_COMMANDS


@pytest.mark.parametrize(("text", "printed"), [("run it with `force`", "run it with `--force`"), ("`x`", "`x`")])
def test_an_argument_is_printed_as_an_option(text: str, printed: str) -> None:
    assert with_options(text) == printed


def test_an_error_of_a_command_names_its_option(in_process: InProcess, tmp_path: Path) -> None:
    code, _, err = in_process("table", "squad", "--out", "nowhere", "--form", "paper", data=tmp_path)
    assert code == 2
    assert_error(err, "`--form`")
