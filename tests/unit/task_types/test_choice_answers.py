"""The right choices in a user's own data: which column has them, how they name the choices, and when to ask."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task
from support.quizzes import exam, quiz, rows, text, write

from finetune.commands.check.findings import findings_of
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.columns import own_data


@pytest.mark.parametrize(("first", "stray"), [(0, 3), (1, 0)])
def test_one_wrong_label_moves_no_others(first: int, stray: int, tmp_path: Path) -> None:
    """A label 3 among 0, 1 and 2, or a 0 among 1, 2 and 3, is one row that cannot be used."""
    task: Any = own_task(exam(tmp_path, label=lambda i: stray if i == 5 else first + i % 3))
    assert task.read.layout.counted_from == first
    loaded = task.load(Source(), "train")
    assert "6" not in {row.id for row in loaded.rows}
    assert all(row.gold == (int(row.id) - 1) % 3 for row in loaded.rows)


SIGNS = [
    "①②③",
    ["option A", "option B", "option C"],
    ["(a)", "(b)", "(c)"],
    ["1번", "2번", "3번"],
    ["choice1", "choice2"],
]


@pytest.mark.parametrize("signs", SIGNS)
def test_labels_with_words_and_signs_name_choices(signs: Any, tmp_path: Path) -> None:
    task: Any = own_task(exam(tmp_path, label=lambda i: signs[i % len(signs)]))
    rows = task.load(Source(), "train").rows
    assert all(row.gold == (int(row.id) - 1) % len(signs) for row in rows)


def listed(folder: Path, label: Any) -> str:
    """A question with a list of three choices, whose places no name tells."""

    def three(i: int) -> list[str]:
        return [text(i), text(i + 1), text(i + 2)]

    return write(folder, rows(300, question=lambda i: text(i, 12), choices=three, answer=label))


@pytest.mark.parametrize(("way", "first"), [("0", 0), ("1", 1)])
def test_numbers_that_count_from_0_or_from_1_are_asked_about(way: str, first: int, tmp_path: Path) -> None:
    data = listed(tmp_path, lambda i: 1 + i % 2)
    with pytest.raises(Ambiguous, match="row 1: the label '1' may mean two choices") as asked:
        own_task(data)
    assert [setting for setting, _ in asked.value.choices] == ["choices_by=0", "choices_by=1"]
    loaded = own_task(data, {"choices_by": way}).load(Source(), "train")
    assert all(row.gold == 1 + (int(row.id) - 1) % 2 - first for row in loaded.rows)


def test_a_rare_0_among_hundreds_does_not_say_that_labels_count_from_it(tmp_path: Path) -> None:
    with pytest.raises(Ambiguous, match="choices_by=1"):
        own_task(listed(tmp_path, lambda i: 0 if i == 5 else 1 + i % 2))


def test_numbers_of_columns_tell_from_which_labels_count(tmp_path: Path) -> None:
    for first in (0, 1):
        columns: dict[str, Any] = {f"choice{first + n}": lambda i, n=n: text(i + n) for n in range(4)}
        quiz = rows(question=lambda i: text(i, 12), **columns, label=lambda i: 1 + i % 3)
        task: Any = own_task(write(tmp_path, quiz))
        assert task.read.layout.counted_from == first


def test_labels_that_are_a_number_and_the_text_of_another_choice_are_asked_about(tmp_path: Path) -> None:
    columns: dict[str, Any] = {f"choice{1 + n}": lambda i, n=n: str(1 + (i + n) % 3) for n in range(3)}
    data = exam(tmp_path, **columns, label=lambda i: 1 + i % 3)
    with pytest.raises(Ambiguous, match=r"choices_by=text .*choices_by=1") as asked:
        own_task(data)
    assert len(asked.value.choices) == 2
    loaded = own_task(data, {"choices_by": "text"}).load(Source(), "train")
    assert all(row.choices[row.gold] == str(1 + (int(row.id) - 1) % 3) for row in loaded.rows)


def test_a_dev_file_that_counts_in_another_way_stops(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    dev = exam(tmp_path / "dev", label=lambda i: 1 + i % 3)
    with pytest.raises(UserError, match=r"count the choices from 1 .*expected from 0. Subtract 1"):
        own_task(exam(tmp_path), {"dev": dev}).load(Source(), "dev")
    with pytest.raises(UserError, match="count the choices from 1"):
        findings_of(exam(tmp_path), {"dev": dev})


@pytest.mark.parametrize("missing", ["choice3", "label", "question"])
def test_a_dev_file_that_lacks_a_column_is_a_finding(missing: str, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    dev = Path(exam(tmp_path / "dev"))
    lines = map(json.loads, dev.read_text().splitlines())
    dev.write_text("\n".join(json.dumps({name: v for name, v in line.items() if name != missing}) for line in lines))
    found = findings_of(exam(tmp_path), {"dev": str(dev)}).findings
    assert [(one.code, missing in one.what) for one in found if one.code == "missing-column"] == [
        ("missing-column", True)
    ]


def test_a_way_for_data_without_choices_is_refused(tmp_path: Path) -> None:
    data = write(tmp_path, rows(text=text, label=lambda i: "ab"[i % 2]))
    with pytest.raises(UserError, match=r"no column has such labels \(shape=classification\)"):
        own_task(data, {"choices_by": "1"})


def test_a_way_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"choices_by is 'letters'\. Did you mean 'letter'"):
        own_task(exam(tmp_path), {"choices_by": "letters"})
    with pytest.raises(UserError, match=r"'choices_by=column' was taken out.*Set choices_by=letter"):
        own_task(exam(tmp_path), {"choices_by": "column"})


@pytest.mark.parametrize("name", ["correct", "correct_option", "answer_key", "Correct Answer", "정답", "답"])
def test_a_column_of_right_choices_is_the_label_by_its_name(tmp_path: Path, name: str) -> None:
    choices = {f"option_{place}": lambda i, place=place: text(i + place) for place in range(1, 5)}
    data = rows(prompt=text, **choices, **{name: lambda i: i % 4 + 1})
    read = own_data(own_task(write(tmp_path, data), {}))
    assert read is not None
    assert (read.layout.shape, read.layout.label, read.layout.counted_from) == ("choice", (name,), 1)


def test_a_right_answer_of_a_pupil_is_weaker_than_the_key(tmp_path: Path) -> None:
    choices = {letter: lambda i, letter=letter: f"{text(i)} {letter}" for letter in "ABCD"}
    answered = rows(question=text, **choices, correct=lambda i: i % 2, answer=lambda i: "ABCD"[i % 4])
    read = own_data(own_task(write(tmp_path, answered), {}))
    assert read is not None and read.layout.label == ("answer",)
    reviewed = rows(text=text, correct=lambda i: i % 2, intent=lambda i: "abc"[i % 3] * 3)
    read = own_data(own_task(write(tmp_path, reviewed), {}))
    assert read is not None and read.layout.label == ("intent",)


def test_only_columns_that_are_not_choices_are_offered_as_the_label(tmp_path: Path) -> None:
    choices = {f"option_{place}": lambda i, place=place: text(i + place) for place in range(1, 5)}
    with pytest.raises(Ambiguous) as asked:
        own_task(write(tmp_path, rows(prompt=text, **choices, key=lambda i: i % 4)), {})
    assert [setting for setting, _ in asked.value.choices] == ["label=key"]


@pytest.mark.parametrize("other", ["category", "class", "score", "rating", "topic"])
def test_the_answer_is_the_label_and_not_what_else_looks_like_one(other: str, tmp_path: Path) -> None:
    data = quiz(tmp_path, **{other: lambda i: 1 + i % 3}, correct_answer=lambda i: "ABC"[i % 3])
    assert own_task(data).read.layout.label == ("correct_answer",)  # type: ignore[attr-defined]


@pytest.mark.parametrize("columns", [{"topic": lambda i: 1 + i % 3}, {"student": lambda i: "AB"[i % 2]}])
def test_a_column_of_another_name_is_asked_about(columns: dict[str, Any], tmp_path: Path) -> None:
    """Its cells may name choices by chance."""
    data, (name,) = quiz(tmp_path, **columns), columns
    with pytest.raises(Ambiguous, match="which choice is right") as asked:
        own_task(data)
    assert [setting for setting, _ in asked.value.choices] == [f"label={name}"]
    assert own_task(data, {"label": name}).read.layout.label == (name,)  # type: ignore[attr-defined]
