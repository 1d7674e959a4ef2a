"""Lists of 0 and 1 of one length are positions of several labels with names, and predictions are written like them."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Dataset, Features, Sequence, Value
from support.cli import Finetune

from finetune.data.in_memory import splits_in, stored
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.own_data import own_task

MARKS = [[int(n >> place & 1) for place in range(3)] for n in range(8)] * 5
TEXTS = [f"the number {number} is in this text" for number in range(len(MARKS))]
FORMS = {
    "integers": lambda marks: marks,
    "floats": lambda marks: list(map(float, marks)),
    "booleans": lambda marks: list(map(bool, marks)),
    "printed": str,
    "commas": lambda marks: ",".join(map(str, marks)),
    "spaces": lambda marks: " ".join(map(str, marks)),
    "words": lambda marks: ["yes" if mark else "no" for mark in marks],
    "booleans and commas": lambda marks: ",".join(str(bool(mark)) for mark in marks),
    "a tensor": lambda marks: f"tensor([{', '.join(f'{mark}.' for mark in marks)}])",
    "an array": lambda marks: f"array({marks}, dtype=int64)",
    "numpy": lambda marks: f"[{' '.join(map(str, marks))}]",
    "numpy floats": lambda marks: f"[{' '.join(f'{mark}.' for mark in marks)}]",
    "numpy booleans": lambda marks: f"[{' '.join(f'{bool(mark)!s:>5}' for mark in marks)}]",
}


def file_of(folder: Path, cells: list[Any]) -> str:
    path = folder / "data.jsonl"
    lines = (json.dumps({"text": text, "labels": cell}) for text, cell in zip(TEXTS, cells, strict=True))
    path.write_text("\n".join(lines))
    return str(path)


def golds(task: Any) -> list[tuple[str, ...]]:
    rows = [row for split in ("train", "dev") for row in task.load(Source(), split).rows]
    return [row.gold for row in sorted(rows, key=lambda row: int(row.id))]


def named(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [tuple(name for name, mark in zip(names, marks, strict=True) if mark) for marks in MARKS]


@pytest.mark.parametrize("form", FORMS)
def test_each_position_is_a_label(form: str, tmp_path: Path) -> None:
    names = ("label 1", "label 2", "label 3")
    task = own_task(file_of(tmp_path, list(map(FORMS[form], MARKS))), {})
    assert task.labels == names
    assert golds(task) == named(names)
    assert "labels=FILE" in task.read.layout.reasons["labels"]


def test_names_are_given_in_the_order_of_the_positions(tmp_path: Path) -> None:
    (names := tmp_path / "names.txt").write_text("late\nbroken\ncold\n")
    data = file_of(tmp_path, MARKS)
    task = own_task(data, {"labels": str(names)})
    assert task.labels == ("late", "broken", "cold")
    assert golds(task) == named(("late", "broken", "cold"))
    names.write_text("late\nbroken\n")
    with pytest.raises(UserError, match=r"2 different names.*of 3 labels"):
        own_task(data, {"labels": str(names)})


def test_the_names_of_a_dataset_are_those_of_the_positions(tmp_path: Path) -> None:
    kind = Features({"text": Value("string"), "labels": Sequence(ClassLabel(names=["late", "broken", "cold"]))})
    rows = Dataset.from_dict({"text": TEXTS, "labels": MARKS}, features=kind)
    task = own_task(str(stored(splits_in(rows), tmp_path)), {})
    assert golds(task) == named(("late", "broken", "cold"))


def test_a_list_of_another_length_is_left_out(tmp_path: Path) -> None:
    task = own_task(file_of(tmp_path, [[1, 0], *MARKS[1:]]), {})
    assert len(golds(task)) == len(MARKS) - 1
    assert "expected 0 or 1 for each of 3 labels (row 1)" in " ".join(task.load(Source(), "train").notes)


@pytest.mark.parametrize(
    "cells", [[[0, 3, 3], [1, 2, 0]], [[0.2, 0.8], [0.4, 0.6]], [["a", "a", "b"], ["b", "a", "b"]]]
)
def test_other_lists_of_one_length_are_no_labels(cells: list[list[Any]], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"has {len(cells[0])} values in each row, .* not labels"):
        own_task(file_of(tmp_path, cells * 20), {})


def test_lists_of_class_numbers_are_labels(tmp_path: Path) -> None:
    task = own_task(file_of(tmp_path, [[0], [1], [0, 1], []] * 10), {})
    assert golds(task)[:4] == [("0",), ("1",), ("0", "1"), ()]


def test_two_positions_between_a_comma_are_asked_about(tmp_path: Path) -> None:
    data = file_of(tmp_path, ["0,0", "0,1", "1,0", "1,1"] * 10)
    with pytest.raises(UserError, match=r"shape=multi-label.*0 or 1 for each of two labels"):
        own_task(data, {})
    assert own_task(data, {"shape": "multi-label"}).labels == ("label 1", "label 2")


def test_predictions_are_the_names_of_the_labels(here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    rows = zip(TEXTS, map(FORMS["commas"], MARKS), strict=True)
    (tmp_path / "data.csv").write_text("text,labels\n" + "".join(f'{text},"{marks}"\n' for text, marks in rows))
    ran = here("run", "data.csv", "train.epochs=1", f"model={tiny_bert}", "max_length=16", "pooling=family")
    assert ran.returncode == 0, ran.stderr
    assert "label 1" in ran.stdout
    predicted = here("predict", "data.csv", "data.csv", "--output", "out.csv")
    assert predicted.returncode == 0, predicted.stderr
    with (tmp_path / "out.csv").open() as file:
        found = list(csv.DictReader(file))
    listed = {name for row in found for name in json.loads(row["prediction"])}
    assert listed <= {"label 1", "label 2", "label 3"}
    assert "micro f1" in predicted.stdout + predicted.stderr  # of the labels that the file has
    sure = here("predict", "data.csv", "data.csv", "--output", "sure.csv", "--coverage", "0.5")
    assert sure.returncode == 0, sure.stderr
    with (tmp_path / "sure.csv").open() as file:
        names = {name for row in csv.DictReader(file) for name in json.loads(row["unsure"] or "[]")}
    assert names <= {"label 1", "label 2", "label 3"}
