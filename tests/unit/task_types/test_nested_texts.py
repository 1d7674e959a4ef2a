"""A text is a text, or a list of words: an object in its cell is never read as what Python prints of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import finetune

NESTED = ({"a": 1}, [{"a": 1}], [["a"], ["b"]])


def write_rows(path: Path, text: Any) -> Path:
    rows = [{"text": f"the text {i}", "label": "ab"[i % 2]} for i in range(40)]
    rows[3]["text"] = text
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize("cell", NESTED, ids=str)
def test_an_object_as_text_is_an_unusable_row(cell: Any, tmp_path: Path) -> None:
    report = finetune.check(str(write_rows(tmp_path / "rows.jsonl", cell)))
    (finding,) = (one for one in report.findings if one.code == "unusable")
    assert finding.rows == (4,) and "'text'" in finding.what


@pytest.mark.parametrize("cell", [["the", "text"], "{'a': 1}", '[["a"]]'], ids=str)
def test_a_list_of_words_and_a_text_that_looks_like_an_object_are_texts(cell: Any, tmp_path: Path) -> None:
    report = finetune.check(str(write_rows(tmp_path / "rows.jsonl", cell)))
    assert not [one for one in report.findings if one.code == "unusable"]


def test_a_model_answers_no_object(finished_run: Callable[[str], Path]) -> None:
    model = finetune.load(finished_run("sentence"))
    name = model.predictor.layout.text[0] if model.predictor.layout else "text"
    with pytest.raises(finetune.UserError):
        model({name: {"a": 1}})
