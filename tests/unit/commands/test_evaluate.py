"""`finetune evaluate`: the official scores of files of answers, and rows of a file or a data folder."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess, assert_error
from support.records import change_record
from support.runs import FinishedRun

from finetune.runs.record_files import load_record


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    """SQuAD 2.0 with two questions of either kind."""
    paragraph: dict[str, Any] = {"context": "red cat", "qas": []}
    for name in "abcd":
        golds = [{"text": "red cat", "answer_start": 0}] if name in "ab" else []
        paragraph["qas"].append({"id": name, "question": "q", "answers": golds, "is_impossible": name in "cd"})
    content = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [paragraph]}]}
    (tmp_path / "dev-v2.0.json").write_text(json.dumps(content))
    return tmp_path


def test_a_missing_answer_counts_0_even_where_none_is_right(squad: Path, in_process: InProcess) -> None:
    (squad / "answers.json").write_text(json.dumps({"a": "red cat", "c": "", "z": "other", "y": "other"}))
    code, out, err = in_process("evaluate", "answers.json", "squad-v2", "--json", data=squad)
    assert code == 0, err
    names = ("f1", "answerable/em", "unanswerable/em")
    assert [json.loads(out)["dev"][name] for name in names] == [0.5, 0.5, 0.5]
    assert "2 of 4 rows, which count 0 (b, d)" in err and "(z, y)" in err


@pytest.mark.parametrize(("text", "named"), [("{", "JSON"), ("[]", "object"), ('{"a": 3}', "a is 3")])
def test_faults_of_answer_files_are_named(text: str, named: str, squad: Path, in_process: InProcess) -> None:
    (squad / "answers.json").write_text(text)
    code, _, err = in_process("evaluate", "answers.json", "squad-v2", data=squad)
    assert code == 2
    assert_error(err, named)


def test_a_split_that_chose_the_epoch_is_named(
    in_process: InProcess, finished_run: FinishedRun, tmp_path: Path
) -> None:
    trained = finished_run("rte")
    run = shutil.copytree(trained, tmp_path / "results" / "rte" / trained.name)
    recipe = load_record(run / "record.json").recipe
    change_record(run / "record.json", recipe=recipe | {"train": recipe["train"] | {"select": "best"}})
    code, _, err = in_process("evaluate", str(run), "rte", data=trained.parents[2] / "data")
    assert code == 0
    assert "dev was used to choose epoch 2 of 2 of this model" in err
