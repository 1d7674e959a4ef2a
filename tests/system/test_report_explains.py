"""`finetune report --explain`: what words add, next to the rows of the report."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.records import change_record
from support.runs import FinishedRun

from finetune.commands.report.explained_rows import chosen, explained_rows
from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines, write_predictions
from finetune.task_types.parts import Explainer
from finetune.task_types.sentence.task import SentenceTask
from finetune.task_types.types import view_of

pytest.importorskip("captum", reason="needs the extra `explain`")


def test_rows_of_a_report_have_what_their_words_add(reviews: Path, in_process: InProcess, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    code, *_ = in_process("report", str(reviews), "--explain", "3", "-o", str(page), data="")
    assert code == 0
    assert "what each word adds" in page.read_text()
    assert re.search(r'<span class="(for|against)" style="--weight: 70%"', page.read_text())


def test_a_missing_extra_is_one_line(reviews: Path, in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "captum", None)
    assert_error(in_process("report", str(reviews), "--explain", "3", data="")[2], "bert-finetune[explain]")


def test_confident_errors_come_first_then_right_rows() -> None:
    lines = [
        {"id": str(i), "text": "a", "pair": None, "gold": "a", "prediction": answer, "probabilities": [p, 1 - p]}
        for i, (answer, p) in enumerate([("a", 0.9), ("b", 0.4), ("b", 0.1), ("a", 0.8), ("a", 0.7)])
    ]
    view = view_of(lines)
    assert view is not None
    assert [line["id"] for line in chosen(view, 2)] == ["2", "1", "0"]
    assert json.dumps(chosen(view, 1)) == json.dumps([lines[2], lines[0]])


def test_of_several_labels_the_most_confident_errors_are_explained_first(
    finished_run: FinishedRun, tmp_path: Path
) -> None:
    folder = RunFolder(shutil.copytree(finished_run("multilabel"), tmp_path / "run"))
    change_record(folder.record_file)
    lines = [
        line | {"gold": ["a"], "prediction": ["a", "b"], "probabilities": [0.9, 0.6 + 0.1 * number]}
        for number, line in enumerate(read_lines(folder, "dev"))
    ]
    write_predictions(folder.predictions("dev"), lines, {})
    found = [name for _, name, _ in explained_rows(load_predictor(folder.path), folder, 2)]
    assert found == [str(lines[number]["id"]) for number in (2, 1)]


def test_rows_that_are_empty_or_too_long_are_left_out(copied_run: FinishedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(copied_run("sentence"))
    change_record(folder.record_file)
    first, *others = read_lines(folder, "dev")
    wrong = {"gold": "good", "prediction": "bad", "probabilities": [0.99, 0.01]}
    write_predictions(folder.predictions("dev"), [first | {"text": " "} | wrong, others[0] | wrong, *others[1:]], {})
    predictor = load_predictor(folder.path)
    found = [name for _, name, _ in explained_rows(predictor, folder, 2)]
    assert str(others[0]["id"]) in found
    assert str(first["id"]) not in found
    monkeypatch.setattr("finetune.inference.explain.explain.MOST_TOKENS", 1)
    assert list(explained_rows(predictor, folder, 2)) == []


def test_what_no_row_can_be_explained_for_is_an_error(reviews: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SentenceTask, "explainer_class", Explainer)
    with pytest.raises(UserError, match="cannot be explained"):
        list(explained_rows(load_predictor(reviews), RunFolder(reviews), 2))
