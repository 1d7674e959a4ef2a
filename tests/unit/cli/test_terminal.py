"""What is printed where there is no terminal."""

import pytest

from finetune.cli.console import standard_output
from finetune.cli.terminal import print_errors
from finetune.errors import UserError


def test_what_is_piped_is_cut_at_no_terminals_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    assert standard_output().width == 90
    monkeypatch.delenv("COLUMNS")
    assert standard_output().width == 300


def test_equal_errors_of_several_runs_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_errors([UserError("mnli: no data"), UserError("out of space"), UserError("mnli: no data")])
    assert capsys.readouterr().err == "error: mnli: no data (2 runs)\nerror: out of space\n"
