"""Verdicts and headings of tables in the terminal, in Korean where that is asked for; cells and JSON stay English."""

import json
from pathlib import Path

import pytest
from support.cli import InProcess
from support.records import run

from finetune.cli.fitted_table import Column


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is shown in Korean."""
    folder = tmp_path / "results" / "mrpc" / "0000000001"
    folder.mkdir(parents=True)
    made = run(0.8).model_copy(update={"id": folder.name})
    (folder / "record.json").write_text(made.model_dump_json(), encoding="utf-8")
    monkeypatch.setenv("FINETUNE_LANG", "ko")


@pytest.mark.usefixtures("shown")
def test_a_verdict_and_headings_are_in_the_readers_language(in_process: InProcess) -> None:
    code, out, err = in_process("show", "0000000001", data="")
    assert code == 0, err
    assert "최빈 클래스보다 30.0점 높습니다" in out
    assert "dev accuracy 점수는 80.0입니다" in out
    for heading in ("분할", "방법", "정확도"):
        assert heading in out
    assert "majority" in out
    code, out, _ = in_process("ls", "mrpc", "--board", data="")
    assert (code, "베이스라인 대비" in out) == (0, True)


@pytest.mark.usefixtures("shown")
def test_what_machines_read_is_english(in_process: InProcess) -> None:
    _, out, _ = in_process("ls", "mrpc", "--board", "--json", data="")
    assert json.loads(out)["baseline"] == "the majority label"


def test_a_heading_that_is_typed_is_the_same_in_every_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINETUNE_LANG", "ko")
    assert Column(name="model").heading == "모델"
    assert Column(name="model", typed=True).heading == "model"
