"""`evaluate` on a file: the columns that its errors name can be given, and the scores carry the file's name."""

import shutil
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.records import change_record
from support.runs import FinishedRun

from finetune.runs.record_files import load_record


@pytest.fixture
def comments(tmp_path: Path) -> Path:
    """A file without the columns that the model was trained on."""
    (tmp_path / "comments.csv").write_text("comment,stars\n" + "the cat sat,good\nthe dog sat,bad\n" * 4)
    return tmp_path


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([], ["comments.csv", "no column 'review'", "name it: text=comment"]),
        (["text=comment"], ["comments.csv", "no column 'mark'", "label=COLUMN", "stars"]),
        (["text=comment", "label=star"], ["'star'", "Did you mean 'stars'"]),
        (["txt=comment"], ["'txt'", "Did you mean 'text'"]),
        (["other.csv"], ["'other.csv'", "key=value"]),
    ],
)
def test_an_error_names_what_can_be_given(
    in_process: InProcess, finished_run: FinishedRun, comments: Path, settings: list[str], words: list[str]
) -> None:
    code, out, err = in_process("evaluate", str(finished_run("sentence")), "comments.csv", *settings, data=comments)
    assert (code, out) == (2, "")
    assert_error(err.splitlines()[-1] + "\n", *words)


def test_columns_are_given_and_scores_carry_the_name_of_the_file(
    in_process: InProcess, finished_run: FinishedRun, comments: Path
) -> None:
    run = str(finished_run("sentence"))
    code, out, err = in_process("evaluate", run, "comments.csv", "text=comment", "label=stars", data=comments)
    assert code == 0, err
    assert out.startswith("comments.csv macro f1 ")


def test_a_missing_file_is_no_unknown_task(in_process: InProcess, comments: Path) -> None:
    code, _, err = in_process("evaluate", "RUN", "coments.csv", data=comments)
    assert code == 2
    assert_error(err, "coments.csv: no such file", "Did you mean 'comments.csv'")


def test_a_split_of_a_data_folder_that_chose_the_epoch_is_named(
    in_process: InProcess, finished_run: FinishedRun, tmp_path: Path
) -> None:
    trained = finished_run("rte")
    run = shutil.copytree(trained, tmp_path / "results" / "rte" / trained.name)
    recipe = load_record(run / "record.json").recipe
    change_record(run / "record.json", recipe=recipe | {"train": recipe["train"] | {"select": "best"}})
    code, _, err = in_process("evaluate", str(run), "rte", data=trained.parents[2] / "data")
    assert code == 0, err
    assert "dev was used to choose epoch 2 of 2 of this model, so its scores are optimistic" in err
