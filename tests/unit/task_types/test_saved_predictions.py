"""The predictions of a run are the same table wherever they are read: of its type, with the names of its labels."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess
from support.records import change_record
from support.reports import report, saved_run
from support.runs import FinishedRun
from support.toys import labels_task

from finetune.analysis.label_errors import LEAST_BELIEVED
from finetune.data.source import Source
from finetune.runs.folder import RunFolder, read_lines, write_predictions
from finetune.runs.record_files import load_record
from finetune.task_types import types
from finetune.task_types.classification.own import Classification
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import ADDED, Predictions
from finetune.task_types.registry import find
from finetune.task_types.saved_predictions import run_predictions
from finetune.task_types.span.questions import SpanAnswer, SpanRow


class Greedy(Classification):
    """Takes any line for its own."""

    name = "greedy"
    label_is = (object,)


@pytest.fixture
def greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"greedy": Greedy(), **types.own_types()}
    monkeypatch.setattr(types, "own_types", lambda: found)


def table_of_dev(folder: Path) -> Predictions:
    run = RunFolder(folder)
    table = run_predictions(load_record(run.record_file), run, "dev")
    assert table is not None
    return table


def test_label_names_are_those_of_the_model_or_of_the_scores(finished_run: FinishedRun, tmp_path: Path) -> None:
    folder = shutil.copytree(finished_run("multilabel"), tmp_path / "run")
    assert table_of_dev(folder).names == ["a", "b"]
    shutil.rmtree(folder / "model")
    assert table_of_dev(folder).names == ["a", "b"]


@pytest.mark.usefixtures("greedy")
def test_the_type_of_a_run_is_the_one_in_its_recipe(finished_run: FinishedRun, in_process: InProcess) -> None:
    folder = finished_run("multilabel")
    assert table_of_dev(folder).several
    code, shown, _ = in_process("show", str(folder), "--predictions", "2", data="")
    assert code == 0
    assert re.search(r"a 0\.\d+, b 0\.\d+", shown)


def test_a_page_lists_the_labels_believed_least_of_a_run_without_its_model(tmp_path: Path) -> None:
    task = labels_task()
    rows = task.load(Source(), "dev").rows
    sure = [[0.95 if name in row.gold else 0.05 for name in task.labels] for row in rows]
    answers = [Answer(value=row.gold, probabilities=each) for row, each in zip(rows, sure, strict=True)]
    answers[0] = Answer(value=("sky",), probabilities=[0.0, 0.0, 0.99])
    folder = saved_run(tmp_path, task, rows, answers)
    change_record(folder / "record.json", scores={"dev": task.score(answers, rows)})
    assert f"labels believed least ({min(len(rows), LEAST_BELIEVED)})" in report(tmp_path, folder)


def test_an_answer_is_right_by_the_scores_of_its_task(tmp_path: Path) -> None:
    task = find("korquad")
    row = SpanRow(id="1", question="누가 썼나?", context="박경리의 《토지》", answers=("《토지》",), start=5)
    table = table_of_dev(saved_run(tmp_path, task, [row], [SpanAnswer(value="토지", start=6)]))
    assert not table.wrong.any()  # its script overlooks these brackets, SQuAD's does not
    other = replace(task, name="other")
    assert table_of_dev(saved_run(tmp_path, other, [row], [SpanAnswer(value="토지", start=6)])).wrong.all()


@pytest.mark.parametrize("layout", [[1], {"order": 7, "levels": None}, {"order": ["a", 1]}, None])
def test_a_damaged_layout_leaves_predictions_without_what_it_cannot_tell(layout: Any, copied_run: FinishedRun) -> None:
    folder = RunFolder(copied_run("sentence"))
    config = folder.model / "config.json"
    saved = json.loads(config.read_text(encoding="utf-8"))
    saved["finetune"] |= {"layout": layout}
    config.write_text(json.dumps(saved), encoding="utf-8")
    record = load_record(folder.record_file)
    table = run_predictions(record, folder, "dev")
    assert table is not None
    assert all(isinstance(name, str) for name in (*table.order, *table.names))


def test_files_have_what_is_computed_of_their_other_columns(copied_run: FinishedRun) -> None:
    folder = RunFolder(copied_run("sentence"))
    lines = read_lines(folder, "dev")
    table = table_of_dev(folder.path)
    assert [{name: line[name] for name in ADDED} for line in lines] == list(table.saved())
    older_lines = [{name: value for name, value in line.items() if name not in ADDED} for line in lines]
    write_predictions(folder.predictions("dev"), older_lines, {})
    change_record(folder.record_file)
    older = table_of_dev(folder.path)
    assert list(older.saved()) == list(table.saved())
