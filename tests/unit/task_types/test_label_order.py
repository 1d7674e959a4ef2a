"""Labels in an order are recognised by evidence, and by what the user names; else nothing changes."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import write_csv
from support.cli import InProcess, assert_error
from support.own_data import own_task

from finetune.errors import UserError
from finetune.task_types.classification.labels import with_order
from finetune.task_types.columns import Layout
from finetune.task_types.types import columns_of, layout_from, layout_of, trained_task

LOW = ["low", "medium", "high"]


def found(labels: Sequence[str], *, column: str = "label", order: Any = "") -> Layout:
    layout = Layout(shape="classification", text=("text",), label=(column,), labels=tuple(sorted(labels)))
    return with_order(layout, order)


@pytest.mark.parametrize(
    "labels",
    [
        LOW,
        ["bad", "ok", "good"],
        ["Strongly_Disagree", "disagree", "Neutral", "agree", "strongly-agree"],
        ["very negative", "negative", "neutral", "positive", "very positive"],
        ["낮음", "보통", "높음"],
        ["매우 불만족", "불만족", "보통", "만족", "매우 만족"],
    ],
)
def test_words_of_a_scale_are_in_its_order_under_any_column(labels: list[str]) -> None:
    layout = found(labels)
    assert layout.order == tuple(labels)
    assert layout.reasons["order"] == "words of a scale; order=none if they have none"
    assert found(labels, order="none").order == ()


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("stars", ["1", "2", "3", "4", "5"]),
        ("rating", [str(n) for n in range(11)]),
        ("고객 만족도", ["1", "2", "3"]),
        ("user_score", ["1", "1.5", "2", "2.5", "10"]),
    ],
)
def test_numbers_are_in_order_where_the_columns_name_says_degrees(column: str, labels: list[str]) -> None:
    assert found(labels, column=column).order == tuple(labels)
    assert found(labels, column="topic").order == ()


@pytest.mark.parametrize(
    "labels",
    [
        ["good", "bad"],
        ["low", "high", "unknown"],
        ["sport", "politics", "art"],
        ["entailment", "neutral", "contradiction"],
        ["1", "2"],
    ],
)
def test_other_labels_are_in_no_order(labels: list[str]) -> None:
    assert found(labels, column="score").order == ()


def test_a_given_order_decides_and_may_have_labels_without_rows() -> None:
    labels = ["a, b", "no", "yes"]
    assert found(labels, order="no,a, b,yes").order == ("no", "a, b", "yes")
    assert found(["1", "2", "4"], order=[1.0, 2.0, 3.0, 4.0]).order == ("1", "2", "3", "4")
    assert found(LOW, order="high,medium,low").order == ("high", "medium", "low")


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"order": "low,high"}, "lacks the label 'medium'"),
        ({"order": "low,medum,high"}, "lacks the label 'medium', and no row has 'medum'"),
        ({"order": "low,medium,high,low"}, "names 'low' twice"),
    ],
)
def test_what_does_not_fit_is_an_error(settings: dict[str, str], what: str) -> None:
    with pytest.raises(UserError) as error:
        found(LOW, **settings)  # type: ignore[arg-type]
    assert what in str(error.value)


def graded(path: Path, labels: Sequence[str], column: str = "stars") -> Path:
    each = itertools.islice(itertools.cycle(labels), 60)
    return write_csv(path, [("text", column), *((f"the cat sat {number}", label) for number, label in enumerate(each))])


def test_recognition_adds_scores_and_an_order_that_is_given_decides(tmp_path: Path) -> None:
    path = graded(tmp_path / "a.csv", "12345")
    task, plain = own_task(path), own_task(path, {"order": "none"})
    given = own_task(path, {"order": "1,2,3,4,5"})
    assert task.metric_names[:4] == ("macro f1", "accuracy", "quadratic kappa", "mean absolute error")
    assert plain.metric_names[:3] == ("macro f1", "accuracy", "1/f1")
    assert given.metric_names[:2] == ("quadratic kappa", "mean absolute error")
    assert columns_of(task) == columns_of(plain)  # so that the id of a run stays
    assert columns_of(given) == columns_of(plain) | {"order": tuple("12345")}


@pytest.mark.parametrize("settings", [{}, {"order": "1,2,3,4,5"}, {"order": "none"}])
def test_a_saved_layout_has_the_order_and_the_same_scores(settings: dict[str, str], tmp_path: Path) -> None:
    task = own_task(graded(tmp_path / "a.csv", "12345"), settings)
    saved = layout_of(task)
    assert saved is not None and ("order" in saved) == (settings.get("order") != "none")
    again = layout_from(saved)
    assert trained_task(again, name="a.csv").metric_names == task.metric_names


def test_an_order_is_for_classes_alone(tmp_path: Path) -> None:
    path = graded(tmp_path / "a.csv", "12345")
    with pytest.raises(UserError, match=r"order= is for one class a row.*shape=regression"):
        own_task(path, {"order": "1,2,3,4,5", "shape": "regression"})


def test_check_says_what_was_recognised_and_how_to_change_it(in_process: InProcess, tmp_path: Path) -> None:
    path = graded(tmp_path / "a.csv", "12345")
    _, said, _ = in_process("check", str(path), "model=new:tiny", data=tmp_path)
    assert "1 < 2 < 3 < 4 < 5" in said and "order=none" in said
    code, _, err = in_process("check", str(path), "order=1,2,3,4", data=tmp_path)
    assert code == 2
    assert_error(err, "order=1,2,3,4", "'5'")
