"""Cells of lists and objects: character spans in every form, also mixed, and never the names of labels."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task

from finetune.data.reading import table_of
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.guess import guess
from finetune.task_types.types import named_type

NAMES, PLACES = ("김철수", "이영희", "박민수"), ("서울", "부산")
Cell = Callable[[int, list[Any]], Any]


def obj(span: list[Any]) -> dict[str, Any]:
    return dict(zip(("start", "end", "label"), span, strict=True))


def other(span: list[Any]) -> dict[str, Any]:
    return dict(zip(("begin", "end", "type"), span, strict=True))


def written(folder: Path, cell: Cell, *, as_text: bool = False) -> Path:
    """A file of 40 texts, with a name and a place in each; row 8 is odd in most tests."""
    lines = []
    for i in range(40):
        name, place = NAMES[i % 3], PLACES[i % 2]
        spans = [[0, 3, "PER"], [5, 7, "LOC"]]
        found = cell(i, spans)
        text = f"{name}는 {place}에서 {i}번째 회의를 했다."
        lines.append({"text": text, "entities": json.dumps(found) if as_text else found})
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return path


READ: dict[str, Cell] = {
    "objects among lists": lambda i, spans: [*map(obj, spans)] if i == 7 else spans,
    "lists among objects": lambda i, spans: spans if i == 7 else [*map(obj, spans)],
    "both in equal numbers": lambda i, spans: spans if i % 2 else [*map(obj, spans)],
    "both in each row": lambda i, spans: [spans[0], obj(spans[1])],
    "other keys in a row": lambda i, spans: [*map(other if i == 7 else obj, spans)],
    "an object without a list among lists": lambda i, spans: obj(spans[0]) if i == 7 else spans,
    "an object without a list among objects": lambda i, spans: obj(spans[0]) if i == 7 else [*map(obj, spans)],
    "a triple without a list": lambda i, spans: spans[0] if i == 7 else spans,
    "an empty list": lambda i, spans: [] if i == 7 else spans,
    "objects without lists": lambda i, spans: obj(spans[0]),
    "triples without lists": lambda i, spans: spans[0],
    "another order": lambda i, spans: [[label, start, end] for start, end, label in spans],
    "most of them without lists": lambda i, spans: [obj(spans[0])] if i % 3 else obj(spans[0]),
}


@pytest.mark.parametrize("as_text", [False, True], ids=["json", "text"])
@pytest.mark.parametrize("name", READ)
def test_spans_of_several_forms_are_all_read(tmp_path: Path, name: str, as_text: bool) -> None:
    path = written(tmp_path, READ[name], as_text=as_text)
    layout = guess(table_of(path, ""), {})
    assert (layout.shape, layout.label) == ("tagging", ("entities",))
    rows = own_task(str(path), {}).load(Source(), "train").rows + own_task(str(path), {}).load(Source(), "dev").rows
    odd = next(row for row in rows if " 7번째" in row.text)
    found = READ[name](7, [[0, 3, "PER"], [5, 7, "LOC"]])
    entities = 1 if isinstance(found, dict) or found[:1] == [0] else len(found)
    assert sum(tag.startswith("B-") for tag in odd.gold) == entities


ASKS: dict[str, Cell] = {
    "deeper lists": lambda i, spans: [spans],
    "offsets as fractions": lambda i, spans: [[start + 0.5, end, label] for start, end, label in spans],
    "spans outside the texts": lambda i, spans: [[start + 900, end + 900, label] for start, end, label in spans],
}
FAULTY: dict[str, Cell] = {
    "labels and one list of lists": lambda i, spans: [["a"], "b"] if i == 7 else ["a", "b"][: 1 + i % 2],
    "labels and one object": lambda i, spans: {"name": "a"} if i == 7 else ["a", "b"][: 1 + i % 2],
    "classes and one object": lambda i, spans: {"name": "a"} if i == 7 else "ab"[i % 2],
}


@pytest.mark.parametrize("as_text", [False, True], ids=["json", "text"])
@pytest.mark.parametrize("given", [{}, {"label": "entities"}, {"label": "entities", "shape": "multi-label"}])
@pytest.mark.parametrize("name", ASKS)
def test_other_lists_and_objects_are_shown_and_never_labels(
    tmp_path: Path, name: str, given: dict[str, str], as_text: bool
) -> None:
    path = written(tmp_path, ASKS[name], as_text=as_text)
    with pytest.raises(UserError) as error:
        guess(table_of(path, ""), given)
    assert "row 1:" in str(error.value) and "'entities' holds" in str(error.value)


@pytest.mark.parametrize("as_text", [False, True], ids=["json", "text"])
@pytest.mark.parametrize("given", [{}, {"label": "entities"}])
@pytest.mark.parametrize("name", FAULTY)
def test_one_list_of_lists_or_object_among_labels_is_a_fault_of_its_row(
    tmp_path: Path, name: str, given: dict[str, str], as_text: bool
) -> None:
    task = own_task(str(written(tmp_path, FAULTY[name], as_text=as_text and "classes" not in name)), given)
    assert task.labels == ("a", "b")
    (note,) = [note for note in task.load(Source(), "train").notes if "expected labels" in note]
    assert "row 8" in note and note.endswith("left out")


@pytest.mark.parametrize("shape", ["multi-label", "classification"])
def test_a_nested_label_in_another_file_is_no_label(shape: str) -> None:
    layout = Layout(shape=shape, text=("text",), label=("labels",), labels=("a", "b"))
    with pytest.raises(NoRow, match="expected labels"):
        named_type(shape).row(layout, {"text": "some words", "labels": [[0, 3, "PER"]]}, "1")


def test_a_label_with_brackets_is_a_label(tmp_path: Path) -> None:
    path = written(tmp_path, lambda i, spans: ["{joy}", "[anger]", "[a] {b}"][i % 3])
    assert own_task(path).labels == ("[a] {b}", "[anger]", "{joy}")
