"""Rows of other data whose label a model does not know."""

import json
from pathlib import Path
from typing import Any

import pytest

from finetune.data.formats.spans import LISTS
from finetune.data.source import Source
from finetune.task_types.columns import Layout
from finetune.task_types.own_data import task_on
from finetune.task_types.types import trained_task

LABELS = {"labels": ("긍정", "부정")}
CASES: list[tuple[Layout, list[dict[str, Any]], str]] = [
    (
        Layout(shape="classification", text=("text",), label=("label",), **LABELS),
        [{"text": "a", "label": "긍정"}, {"text": "b", "label": "긍졍"}, {"text": "c", "label": "부정"}],
        "1 row with the label '긍졍', unknown to the model (row 2)",
    ),
    (
        Layout(shape="multi-label", text=("text",), label=("label",), **LABELS),
        [{"text": "a", "label": ["긍정", "x"]}, {"text": "b", "label": ["y"]}, {"text": "c", "label": ["부정"]}],
        "2 rows with the labels 'x', 'y', unknown to the model (rows 1, 2)",
    ),
    (
        Layout(shape="tagging", text=("words",), label=("tags",), labels=("PER",)),
        [{"words": ["a", "b"], "tags": ["B-PER", "O"]}, {"words": ["c"], "tags": ["B-LOC"]}],
        "1 row with the label 'LOC', unknown to the model (row 2)",
    ),
    (
        Layout(shape="tagging", text=("text",), label=("label",), labels=("PER",), spans=LISTS),
        [{"text": "a b", "label": [[0, 1, "PER"]]}, {"text": "c", "label": [[0, 1, "LOC"]]}],
        "1 row with the label 'LOC', unknown to the model (row 2)",
    ),
]


@pytest.mark.parametrize(("layout", "rows", "note"), CASES)
def test_they_are_left_out_of_an_evaluation_and_noted(
    layout: Layout, rows: list[dict[str, Any]], note: str, tmp_path: Path
) -> None:
    file = tmp_path / "new.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    model = trained_task(layout, name="old.jsonl")
    task = task_on(model, layout, {"train": file, "dev": file}, name=str(file), scored=("dev",))
    loaded = task.load(Source(), "dev")
    assert loaded.notes == (f"{file}: {note}; left out",)
    assert len(loaded.rows) < len(rows)
    assert all(
        task.fits(answer.value, row) for row, answer in zip(loaded.rows, task.labels_of(loaded.rows), strict=True)
    )
