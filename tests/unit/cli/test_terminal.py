"""What is printed where there is no terminal."""

import pytest

from finetune.cli.console import standard_output


def test_what_is_piped_is_cut_at_no_terminals_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    assert standard_output().width == 90
    monkeypatch.delenv("COLUMNS")
    assert standard_output().width == 300
