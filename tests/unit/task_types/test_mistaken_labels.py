"""Labels of a single row that are slips of a frequent one are left out, each with a line."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.checked_files import labels, reviews
from support.own_data import own_task

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.classification.labels import slips_in
from finetune.task_types.task import Task

COUNTS = {"good": 60, "bad": 50, "excellent": 40, "so so": 9}


def train_rows(task: Task) -> Rows:
    return task.load(Source(), "train")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("goood", "perhaps 'good'"),
        ("excelent", "perhaps 'excellent'"),
        ("exceellent", "perhaps 'excellent'"),
        ("exclelent", "perhaps 'excellent'"),
        ("Tone", "the column's name"),
        ("2021-03-04", ""),
        ("mixed", ""),
        ("Good", ""),
        ("neither good nor bad", ""),
    ],
)
def test_a_label_of_one_row_is_a_slip_where_it_is_nearly_a_frequent_one(name: str, why: str) -> None:
    assert slips_in({**COUNTS, name: 1}, "tone") == ({name: why} if why else {})
    assert slips_in({**COUNTS, name: 2}, "tone") == {}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sulfite", "sulfate"),
        ("neural", "neutral"),
        ("martial", "marital"),
        ("questions", "question"),
        ("increased", "increase"),
        ("excellente", "excellent"),
        ("atypical", "typical"),
        ("niña", "niño"),
        ("배상", "배송"),
        ("国际新闻", "国内新闻"),
    ],
)
def test_what_may_be_another_word_is_none(name: str, meant: str) -> None:
    assert slips_in({meant: 40, "other": 40, name: 1}, "label") == {}


@pytest.mark.parametrize(
    "counts",
    [
        {"1": 40, "2": 50, "3": 1},  # numbers as the others are
        {"grade A": 40, "grade B": 40, "grade C": 40, "grade D": 1},  # an edit apart, as the others are
        {"Stage I": 40, "Stage II": 40, "Stage IV": 1},
        {"가군": 40, "나군": 40, "다군": 1},
        {"good": 60, "7": 1},  # one class would be left
        {"good": 60, "bad": 50} | {str(number): 1 for number in range(50)},
    ],
)
def test_labels_that_are_as_the_data_has_them_are_no_slips(counts: Mapping[str, int]) -> None:
    assert slips_in(counts, "label") == {}


def test_their_rows_are_left_out_with_a_line_that_says_how_to_keep_them(tmp_path: Path) -> None:
    data = reviews(tmp_path / "a.csv", label={7: "goood", 9: "mixed"})
    task = own_task(data)
    assert task.labels == ("bad", "good", "mixed")
    rows = train_rows(task)
    assert "7" not in {row.id for row in rows.rows}
    (note,) = [note for note in rows.notes if "goood" in note]
    assert "keep=all keeps" in note and "row 7" in note and note.endswith("left out")


@pytest.mark.parametrize("keep", ["goood", "all"])
def test_a_label_is_kept(keep: str, tmp_path: Path) -> None:
    task = own_task(reviews(tmp_path / "a.csv", label={7: "goood", 9: "mixed"}), {"keep": keep})
    assert "goood" in task.labels
    assert not [note for note in train_rows(task).notes if "goood" in note]


def test_settings_that_name_no_label_of_the_data_are_errors(tmp_path: Path) -> None:
    data = reviews(tmp_path / "a.csv")
    for setting in ("keep", "drop"):
        with pytest.raises(UserError, match=rf"{setting}=goood: no row has the label 'goood'. Did you mean 'good'"):
            own_task(data, {setting: "goood"})
    with pytest.raises(UserError, match="keep= and drop= both name the label 'good'"):
        own_task(data, {"keep": "good", "drop": "good"})
    with pytest.raises(UserError, match="drop= names classes, and this data has shape=multi-label"):
        own_task(data, {"shape": "multi-label", "drop": "good"})


def test_labels_to_drop_are_left_out_however_many_rows_they_have(tmp_path: Path) -> None:
    label = dict.fromkeys(range(7, 30), "so-so, as a sentence of a row.")
    task = own_task(reviews(tmp_path / "a.csv", label=label), {"drop": "so-so, as a sentence of a row."})
    assert task.labels == ("bad", "good")
    assert any("which drop= leaves out" in note and note.endswith("left out") for note in train_rows(task).notes)


def test_a_label_is_counted_over_all_splits(tmp_path: Path) -> None:
    data = reviews(tmp_path / "train.csv", label={7: "goood"})
    dev = reviews(tmp_path / "dev.csv", label={8: "goood"})
    assert "goood" in own_task(data, {"dev": str(dev)}).labels
    assert "goood" not in own_task(data).labels


def test_a_header_once_more_is_left_out_and_hides_no_header(tmp_path: Path) -> None:
    data = reviews(tmp_path / "a.csv", text={20: "text"}, label={20: "label"})
    task = own_task(data)
    assert set(task.labels) == set(labels(60))
    assert "the column's name" in " ".join(train_rows(task).notes)


@pytest.mark.parametrize("cell", ["{}", '{"a": 1}', "[[1, 2]]"])
def test_an_object_in_one_row_is_a_fault_of_that_row(cell: str, tmp_path: Path) -> None:
    task = own_task(reviews(tmp_path / "a.csv", label={7: cell}))
    assert task.labels == ("bad", "good")
    (note,) = [note for note in train_rows(task).notes if "expected labels" in note]
    assert "row 7" in note and note.endswith("left out")
    with pytest.raises(UserError, match="not labels"):
        own_task(reviews(tmp_path / "b.csv", label=dict.fromkeys(range(1, 50), "{}")))
