"""Labels of a single row that look like mistakes: their rows are left out, with a line, unless they are kept."""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.checked_files import labels, reviews
from support.cli import InProcess
from support.own_data import own_task

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.sentence.mistakes import mistaken
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
        ("3.5", "a number or a date among words"),
        ("2021-03-04", "a number or a date among words"),
        ("04.03.2021 10:30", "a number or a date among words"),
        ("Tone", "the column's name"),
        ("We went there twice, and it was closed both times.", "a sentence among names"),
        ("goods", ""),  # another word, or form of it
        ("excellence", ""),
        ("excellently", ""),
        ("??", "a sign among words"),
        ("65+", ""),
        ("9/11", ""),
        ("$$$", ""),
        ("😡", ""),
        ("Malignant neoplasm of bronchus and lung", ""),
        ("mixed", ""),
        ("Good", ""),
        ("neither good nor bad", ""),
    ],
)
def test_a_label_of_one_row_is_a_mistake_where_it_is_unlike_all_others(name: str, why: str) -> None:
    assert mistaken({**COUNTS, name: 1}, "tone") == ({name: why} if why else {})
    assert mistaken({**COUNTS, name: 2}, "tone") == {}


@pytest.mark.parametrize(
    "counts",
    [
        {"1": 40, "2": 50, "3": 1},  # numbers as the others are
        {"grade A": 40, "grade B": 40, "grade C": 40, "grade D": 1},  # an edit apart, as the others are
        {"Stage I": 40, "Stage II": 40, "Stage IV": 1},
        {"가군": 40, "나군": 40, "다군": 1},
        {"typical": 40, "normal": 40, "atypical": 1},  # another word, by its first letter
        {"초급": 40, "중급": 40, "고급": 1},
        {"배송": 40, "환불": 40, "배상": 1},
        {"国内新闻": 40, "体育新闻": 40, "国际新闻": 1},
        {"sulfate": 40, "nitrate": 40, "sulfite": 1},
        {"niño": 40, "padre": 40, "niña": 1},
        {"good": 60, "7": 1},  # one class would be left
        {"good": 5, "bad": 4, "7": 1},  # a row in ten
        {"good": 60, "bad": 50} | {str(number): 1 for number in range(50)},
    ],
)
def test_labels_that_are_as_the_data_has_them_are_no_mistakes(counts: Mapping[str, int]) -> None:
    assert mistaken(counts, "label") == {}


def test_their_rows_are_left_out_with_a_line_that_says_how_to_keep_them(tmp_path: Path) -> None:
    data = reviews(tmp_path / "a.csv", label={7: "2021-03-04", 9: "mixed"})
    task = own_task(data)
    assert task.labels == ("bad", "good", "mixed")
    rows = train_rows(task)
    assert "7" not in {row.id for row in rows.rows}
    (note,) = [note for note in rows.notes if "2021-03-04" in note]
    assert "keep=2021-03-04 keeps it" in note and "row 7" in note and note.endswith("left out")


@pytest.mark.parametrize("label", ["2021-03-04", "1.50", "007", "+5", "-1e5"])
def test_what_the_line_says_keeps_the_label_when_typed(label: str, tmp_path: Path, in_process: InProcess) -> None:
    """Also where a setting of that text would be read as a date, a number or a list."""
    reviews(tmp_path / "a.csv", label={7: label})
    found = " ".join(in_process("check", "a.csv", "--json", data=tmp_path)[1].split())
    (typed,) = shlex.split(json.loads(f'"{re.findall(r"no other row has; (.*?) keeps it", found)[0]}"'))
    code, again, err = in_process("check", "a.csv", typed, data=tmp_path)
    assert code == 0 and "label-mistake" not in again, err


@pytest.mark.parametrize("keep", ["2021-03-04", "all", "mixed, 2021-03-04"])
def test_a_label_is_kept(keep: str, tmp_path: Path) -> None:
    task = own_task(reviews(tmp_path / "a.csv", label={7: "2021-03-04", 9: "mixed"}), {"keep": keep})
    assert "2021-03-04" in task.labels
    assert not [note for note in train_rows(task).notes if "2021-03-04" in note]


def test_a_label_to_keep_that_no_row_has_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"keep=2021: no row has the label '2021'"):
        own_task(reviews(tmp_path / "a.csv"), {"keep": "2021"})


def test_a_label_is_counted_over_all_splits(tmp_path: Path) -> None:
    data = reviews(tmp_path / "train.csv", label={7: "2021"})
    dev = reviews(tmp_path / "dev.csv", label={8: "2021"})
    assert "2021" in own_task(data, {"dev": str(dev)}).labels
    assert "2021" not in own_task(data).labels


def test_a_header_once_more_is_left_out_and_hides_no_header(tmp_path: Path) -> None:
    data = reviews(tmp_path / "a.csv", text={20: "text"}, label={20: "label"})
    task = own_task(data)
    assert set(task.labels) == set(labels(60))
    assert "the column's name" in " ".join(train_rows(task).notes)
