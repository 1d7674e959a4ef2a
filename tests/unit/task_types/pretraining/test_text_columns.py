"""Documents of tables: which column is read, by one rule in training and prediction, and where lines end."""

import json
from pathlib import Path
from typing import Any

import pytest

from finetune.data.reading import table_of
from finetune.data.rows import CANONICAL
from finetune.errors import UserError
from finetune.task_types.guess import guess
from finetune.task_types.own_data import own_task
from finetune.task_types.types import columns_of, layout_of

REVIEW = [f"the cat number {number} sat on the mat and it was red" for number in range(30)]
TABLES: dict[str, list[dict[str, Any]]] = {
    "review": [{"review": text, "mark": number % 2} for number, text in enumerate(REVIEW)],
    "body": [{"body": "cat"}] * 30,
    "text": [{"text": "cat", "mark": number % 2} for number in range(30)],
}


def table(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("column", TABLES)
def test_a_model_keeps_the_column_that_it_was_trained_on(column: str, tmp_path: Path) -> None:
    path = table(tmp_path, TABLES[column])
    task = own_task(str(path), {"shape": "text"})
    saved = layout_of(task)
    assert saved is not None and saved["text"] == (column,)
    assert guess(table_of(path, ""), {"shape": "text"}, labelled=False).text == (column,)


def test_several_columns_of_texts_are_named_by_the_user(tmp_path: Path) -> None:
    path = table(tmp_path, [{"title": text, "body": text} for text in REVIEW])
    for given in ({}, {"text": "title,body"}):
        with pytest.raises(UserError, match="text=title"):
            guess(table_of(path, ""), {"shape": "text", **given}, labelled=False)
    assert guess(table_of(path, ""), {"shape": "text", "text": "body"}, labelled=False).text == ("body",)


def test_a_column_that_was_found_does_not_change_the_id(tmp_path: Path) -> None:
    """Ids of earlier runs are of these facts: this test may not be changed."""
    path = table(tmp_path, TABLES["review"])
    found, named = (columns_of(own_task(str(path), {"shape": "text", **given})) for given in ({}, {"text": "review"}))
    assert (CANONICAL(found), CANONICAL(named)) == (
        '{"shape": "text", "text": []}',
        '{"shape": "text", "text": ["review"]}',
    )
