"""What labels mean: positions of several, degrees in an order, slips, and labels that a model does not know."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import reviews, write_csv, write_jsonl
from support.own_data import own_task, rows_of

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.own_data import task_on
from finetune.task_types.types import columns_of, layout_from, layout_of, trained_task

MARKS = [[int(n >> place & 1) for place in range(3)] for n in range(8)] * 5
TEXTS = [f"the number {number} is in this text" for number in range(len(MARKS))]
FORMS: dict[str, Callable[[list[int]], Any]] = {  # f01
    "integers": lambda marks: marks,
    "booleans": lambda marks: list(map(bool, marks)),
    "printed": str,
    "spaces": lambda marks: " ".join(map(str, marks)),
    "a tensor": lambda marks: f"tensor([{', '.join(f'{mark}.' for mark in marks)}])",
    "numpy": lambda marks: f"[{' '.join(map(str, marks))}]",
}


def file_of(folder: Path, cells: list[Any]) -> str:
    rows = [{"text": text, "labels": cell} for text, cell in zip(TEXTS, cells, strict=True)]
    return str(write_jsonl(folder / "data.jsonl", rows))


def golds(data: str, **settings: str) -> list[tuple[str, ...]]:
    return [row.gold for row in rows_of(data, settings)]


def named(*names: str) -> list[tuple[str, ...]]:
    return [tuple(name for name, mark in zip(names, marks, strict=True) if mark) for marks in MARKS]


@pytest.mark.parametrize("form", FORMS)
def test_each_position_is_a_label_in_any_notation(form: str, tmp_path: Path) -> None:
    assert golds(file_of(tmp_path, list(map(FORMS[form], MARKS)))) == named("label 1", "label 2", "label 3")


def test_names_of_positions_are_those_of_a_file(tmp_path: Path) -> None:
    (names := tmp_path / "names.txt").write_text("late\nbroken\ncold\n")
    data = file_of(tmp_path, MARKS)
    assert golds(data, labels=str(names)) == named("late", "broken", "cold")
    names.write_text("late\nbroken\n")
    with pytest.raises(UserError, match=r"2 different names.*of 3 labels"):
        own_task(data, {"labels": str(names)})


def test_lists_that_are_no_positions(tmp_path: Path) -> None:
    other = file_of(tmp_path, [[1, 0], *MARKS[1:]])  # one of another length
    assert len(golds(other)) == len(MARKS) - 1
    assert "expected 0 or 1 for each of 3 labels (row 1)" in " ".join(own_task(other).load(Source(), "train").notes)
    for cells in ([[0, 3, 3], [1, 2, 0]], [[0.2, 0.8], [0.4, 0.6]], [["a", "a", "b"], ["b", "a", "b"]]):
        with pytest.raises(UserError, match=f"has {len(cells[0])} values in each row, .* not labels"):
            own_task(file_of(tmp_path, cells * 20))
    assert golds(file_of(tmp_path, [[0], [1], [0, 1], []] * 10))[:4] == [("0",), ("1",), ("0", "1"), ()]
    two = file_of(tmp_path, ["0,0", "0,1", "1,0", "1,1"] * 10)
    with pytest.raises(UserError, match=r"shape=multi-label.*0 or 1 for each of two labels"):
        own_task(two)
    assert golds(two, shape="multi-label")[1:3] == [("label 2",), ("label 1",)]


def test_an_order_adds_scores_and_one_that_is_given_decides(tmp_path: Path) -> None:
    rows = [(f"the cat sat {number}", str(1 + number % 5)) for number in range(60)]
    path = write_csv(tmp_path / "a.csv", [("text", "stars"), *rows])
    task, plain, given = (own_task(path, settings) for settings in ({}, {"order": "none"}, {"order": "5,4,3,2,1"}))
    assert task.metric_names[:4] == ("macro f1", "accuracy", "quadratic kappa", "mean absolute error")
    assert plain.metric_names[:3] == ("macro f1", "accuracy", "1/f1")
    assert given.metric_names[:2] == ("quadratic kappa", "mean absolute error")
    assert columns_of(task) == columns_of(plain)  # so that the id of a run stays
    assert columns_of(given) == columns_of(plain) | {"order": tuple("54321")}
    for one in (task, plain, given):
        saved = layout_of(one)
        assert saved is not None and trained_task(layout_from(saved), name="a.csv").metric_names == one.metric_names
    for settings, what in (
        ({"order": "1,2,3,4"}, "lacks the label '5'"),
        ({"order": "1,2,3,4,5,1"}, "names '1' twice"),
        ({"order": "1,2,3,4,5", "shape": "regression"}, "shape=regression"),
    ):
        with pytest.raises(UserError, match=what):
            own_task(path, settings)


SLIPS = {"goood": "good", "excelent": "excellent", "exclelent": "excellent", "label": "the column's name"}


@pytest.mark.parametrize("name", [*SLIPS, "mixed", "Good", "2021-03-04", "neither good nor bad"])
def test_a_label_of_one_row_is_left_out_where_it_is_nearly_a_frequent_one(name: str, tmp_path: Path) -> None:
    usual = dict.fromkeys(range(11, 30), "excellent")
    data = reviews(tmp_path / "a.csv", label={**usual, 7: name})
    task = own_task(data)
    assert {*task.labels} == {"bad", "good", "excellent", *(() if name in SLIPS else (name,))}  # type: ignore[attr-defined]
    notes = [note for note in task.load(Source(), "train").notes if "row 7" in note]
    assert [SLIPS[name] in note and "keep=all" in note and note.endswith("left out") for note in notes] == (
        [True] if name in SLIPS else []
    )
    twice = own_task(reviews(tmp_path / "b.csv", label={**usual, 7: name, 9: name}))
    assert name in twice.labels  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("sulfite", "sulfate"), ("neural", "neutral"), ("questions", "question"), ("atypical", "typical"),
     ("배상", "배송"), ("grade B", "grade A"), ("Stage II", "Stage I"), ("나군", "가군"), ("2", "1")],
)  # fmt: skip
def test_what_may_be_another_class_is_none(name: str, meant: str, tmp_path: Path) -> None:
    common = {row: (meant, "other")[row % 2] for row in range(1, 61)}
    task = own_task(reviews(tmp_path / "a.csv", label={**common, 7: name}))
    assert {*task.labels} == {meant, "other", name}  # type: ignore[attr-defined]


def test_labels_are_kept_and_dropped_by_name(tmp_path: Path) -> None:
    data = reviews(tmp_path / "a.csv", label={7: "goood", 9: "mixed", **dict.fromkeys(range(20, 40), "so-so")})
    for settings, found in (
        ({}, {"bad", "good", "mixed", "so-so"}),
        ({"keep": "goood"}, {"bad", "good", "goood", "mixed", "so-so"}),
        ({"drop": "so-so"}, {"bad", "good", "mixed"}),
    ):
        assert {*own_task(data, settings).labels} == found  # type: ignore[attr-defined]
    for settings, what in (
        ({"keep": "godo"}, "keep=godo: no row has the label 'godo'. Did you mean 'good'"),
        ({"keep": "good", "drop": "good"}, "keep= and drop= both name the label 'good'"),
    ):
        with pytest.raises(UserError, match=what):
            own_task(data, settings)
    dev = reviews(tmp_path / "dev.csv", label={8: "goood"})  # counted over all splits
    assert "goood" in own_task(data, {"dev": str(dev)}).labels  # type: ignore[attr-defined]


KNOWN: dict[str, Any] = {"text": ("text",), "label": ("label",), "labels": ("긍정", "부정")}


@pytest.mark.parametrize(
    ("layout", "cells", "unknown"),
    [
        (Layout(shape="classification", **KNOWN), ["긍정", "긍졍", "부정"], "1 row with the label '긍졍'"),
        (Layout(shape="multi-label", **KNOWN), [["긍정", "x"], ["y"], ["부정"]], "2 rows with the labels 'x', 'y'"),
        (Layout(shape="tagging", **KNOWN), [["B-긍정"], ["B-LOC"], ["O"]], "1 row with the label 'LOC'"),
        (Layout(shape="tagging", **KNOWN, spans=("0", "1", "2")), [[[0, 1, "긍정"]], [[0, 1, "LOC"]]], "'LOC'"),
    ],
)  # fmt: skip
def test_rows_of_an_unknown_label_are_left_out(layout: Layout, cells: list[Any], unknown: str, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "new.jsonl", [{"text": "a", "label": cell} for cell in cells])
    task = task_on(trained_task(layout, name="old"), layout, {"train": file, "dev": file}, name="new", scored=("dev",))
    loaded = task.load(Source(), "dev")
    (note,) = loaded.notes
    assert unknown in note and note.endswith("left out")
    assert len(loaded.rows) == len(cells) - unknown.count("'") // 2
    assert all(task.fits(one.value, row) for row, one in zip(loaded.rows, task.labels_of(loaded.rows), strict=True))


def test_dev_is_what_a_column_says(tmp_path: Path) -> None:
    def data(*words: str) -> str:
        rows = [(f"the cat {n}", "ab"[n % 2], words[n % len(words)]) for n in range(12)]
        return str(write_csv(tmp_path / "rows.csv", [("text", "label", "part"), *rows, ("the dog", "", "dev")]))

    task = own_task(data("train", "Train", "validation"), {"split": "part"})
    assert [row.id for row in task.load(Source(), "dev").rows] == ["3", "6", "9", "12"]
    assert len(task.load(Source(), "train").rows) == 8
    for words, said in (
        (("train", "test"), "row 2.*'test'.*test=FILE"),
        (("train",), "all rows are train"),
    ):
        with pytest.raises(UserError, match=said):
            own_task(data(*words), {"split": "part"}).load(Source(), "dev")
