"""Labels of a single row that are unlike the others: mistakes are left out, others are trained on, each with a line."""

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
from finetune.task_types.classification.mistakes import unlike
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
        ("2021-03-04", "a date, unlike the others"),
        ("04.03.2021 10:30", "a date, unlike the others"),
        ("4 March 2021", "a date, unlike the others"),
        ("https://example.org/a", "a link, unlike the others"),
        ("Tone", "the column's name"),
        ("We went there twice, and it was closed both times.", "a sentence among names"),
        ("I could not tell what this one was meant to be", "a sentence among names"),
        ("이 문장은 무슨 감정인지 잘 모르겠어서 나중에 다시 보겠습니다", "a sentence among names"),
        ("??", "a sign among words"),
        ("mixed", ""),
        ("Good", ""),
        ("neither good nor bad", ""),
    ],
)
def test_a_label_of_one_row_is_a_mistake_where_it_is_unlike_all_others(name: str, why: str) -> None:
    assert unlike({**COUNTS, name: 1}, "tone") == ({name: why} if why else {}, {})
    assert unlike({**COUNTS, name: 2}, "tone") == ({}, {})


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
def test_what_may_be_another_word_is_only_a_doubt(name: str, meant: str) -> None:
    assert unlike({meant: 40, "other": 40, name: 1}, "label") == ({}, {name: f"perhaps '{meant}'"})


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("5", "without letters, which all others have"),
        ("65+", "without letters, which all others have"),
        ("$$$", "without letters, which all others have"),
        ("😡", "without letters, which all others have"),
        ("Malignant neoplasm of bronchus and lung", "much longer than the others"),
        ("Ministry of Education, Culture, Sports, Science and Technology of Japan", "much longer than the others"),
        ("Waste, recycling, and environmental services etc.", "much longer than the others"),
    ],
)
def test_a_number_a_sign_or_a_long_name_is_only_a_doubt(name: str, why: str) -> None:
    assert unlike({**COUNTS, name: 1}, "tone") == ({}, {name: why})
    assert unlike({"1": 40, "2": 40, "five": 1}, "stars") == ({}, {"five": "with letters, which no other has"})


def test_a_slip_that_is_a_word_of_the_texts_is_only_a_doubt() -> None:
    counts = {"contract": 40, "other": 40, "contact": 1}
    assert unlike(counts, "label")[0] == {"contact": "perhaps 'contract'"}
    assert unlike(counts, "label", ["Whom do I Contact?"]) == ({}, {"contact": "perhaps 'contract'"})


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
def test_labels_that_are_as_the_data_has_them_are_no_mistakes(counts: Mapping[str, int]) -> None:
    assert unlike(counts, "label") == ({}, {})


def test_of_few_rows_none_is_left_out() -> None:
    why = "without letters, which all others have"
    assert unlike({"good": 5, "bad": 4, "2021-03-04": 1}, "label") == ({}, {"2021-03-04": why})


def test_their_rows_are_left_out_with_a_line_that_says_how_to_keep_them(tmp_path: Path) -> None:
    data = reviews(tmp_path / "a.csv", label={7: "2021-03-04", 9: "mixed"})
    task = own_task(data)
    assert task.labels == ("bad", "good", "mixed")
    rows = train_rows(task)
    assert "7" not in {row.id for row in rows.rows}
    (note,) = [note for note in rows.notes if "2021-03-04" in note]
    assert "keep=2021-03-04 keeps it" in note and "row 7" in note and note.endswith("left out")


@pytest.mark.parametrize("label", ["2021-03-04", "2021-03-04 10:30:00", "?", "..."])
def test_what_the_line_says_keeps_the_label_when_typed(label: str, tmp_path: Path, in_process: InProcess) -> None:
    """Also where a setting of that text would be read as a date."""
    reviews(tmp_path / "a.csv", label={7: label})
    (typed,) = advised(in_process, tmp_path, r"no other row has; (.*?) keeps it")
    code, again, err = in_process("check", "a.csv", typed, data=tmp_path)
    assert code == 0 and "label-mistake" not in again, err


@pytest.mark.parametrize("label", ["1.50", "007", "1_000", "+5", "-1e5", "[1]", "{}.", '"""', "12:30", "5=5", "1,5"])
def test_what_the_line_says_leaves_a_doubtful_label_out_or_accepts_it(
    label: str, tmp_path: Path, in_process: InProcess
) -> None:
    """Also where a setting of that text would be read as a time, a number or a list."""
    data = reviews(tmp_path / "a.csv", label={7: label})
    (note,) = [note for note in train_rows(own_task(data)).notes if "may be a mistake" in note]
    assert "row 7" in note
    drop, keep = advised(in_process, tmp_path, r"have\); (drop=.*?|'drop=.*?') leaves it out, (.*?) hides this line")
    out = in_process("check", "a.csv", drop, data=tmp_path)[1]
    assert "label-dropped" in out and "2 different values, 1 left out" in out
    out = in_process("check", "a.csv", keep, data=tmp_path)[1]
    assert "label-unlike" not in out and "3 different values" in out


def advised(in_process: InProcess, folder: Path, pattern: str) -> list[str]:
    """The settings that `check` names in a message like this, as a shell reads them."""
    findings = json.loads(in_process("check", "a.csv", "--json", data=folder)[1])["findings"]
    (found,) = [match for one in findings if (match := re.search(pattern, one["message"]))]
    return shlex.split(" ".join(found.groups()))


@pytest.mark.parametrize("keep", ["2021-03-04", "all"])
def test_a_label_is_kept(keep: str, tmp_path: Path) -> None:
    task = own_task(reviews(tmp_path / "a.csv", label={7: "2021-03-04", 9: "mixed"}), {"keep": keep})
    assert "2021-03-04" in task.labels
    assert not [note for note in train_rows(task).notes if "2021-03-04" in note]


def test_a_label_to_keep_that_no_row_has_is_an_error(tmp_path: Path) -> None:
    for setting in ("keep", "drop"):
        with pytest.raises(UserError, match=rf"{setting}=goood: no row has the label 'goood'. Did you mean 'good'"):
            own_task(reviews(tmp_path / "a.csv"), {setting: "goood"})


def test_a_label_to_keep_that_is_not_left_out_is_an_error(tmp_path: Path) -> None:
    data = reviews(tmp_path / "a.csv", label={7: "2021-03-04"})
    with pytest.raises(UserError, match=r"keep=good: 'good' is not left out. Those that may be .* are '2021-03-04'"):
        own_task(data, {"keep": "good"})
    with pytest.raises(UserError, match="keep= and drop= both name the label '2021-03-04'"):
        own_task(data, {"keep": "2021-03-04", "drop": "2021-03-04"})
    with pytest.raises(UserError, match="drop= names classes, and this data has shape=multi-label"):
        own_task(data, {"shape": "multi-label", "drop": "good"})


@pytest.mark.parametrize(
    "keep", [["2021-03-04", "so-so, as a sentence of a row."], "2021-03-04,so-so, as a sentence of a row."]
)
def test_several_labels_are_kept_that_may_have_commas(keep: object, tmp_path: Path) -> None:
    data = reviews(tmp_path / "a.csv", label={7: "2021-03-04", 9: "so-so, as a sentence of a row."})
    assert {"2021-03-04", "so-so, as a sentence of a row."} <= set(own_task(data, {"keep": keep}).labels)


def test_labels_to_drop_are_left_out_however_many_rows_they_have(tmp_path: Path) -> None:
    task = own_task(reviews(tmp_path / "a.csv", label=dict.fromkeys(range(7, 30), "unsure")), {"drop": "unsure"})
    assert task.labels == ("bad", "good")
    assert any("which drop= leaves out" in note and note.endswith("left out") for note in train_rows(task).notes)


def test_a_label_is_counted_over_all_splits(tmp_path: Path) -> None:
    data = reviews(tmp_path / "train.csv", label={7: "2021-03-04"})
    dev = reviews(tmp_path / "dev.csv", label={8: "2021-03-04"})
    assert "2021-03-04" in own_task(data, {"dev": str(dev)}).labels
    assert "2021-03-04" not in own_task(data).labels


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
