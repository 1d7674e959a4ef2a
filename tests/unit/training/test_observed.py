"""What a run saw of its rows: which of them contradict each other, as `check` says."""

from pathlib import Path

import pytest
from support.own_data import own_task

from finetune.data.source import source_of
from finetune.training.record import _contradicted

REVIEWS = "text,label\nfine 🙂,good\nfine 🙁,bad\nwell done,good\nWell done,bad\nso so,good\nso so,good\n"
NUMBERS = "text,score\na b,1.5\na b,1.25\nc d,9.5\nc d,1.5\ne f,4.5\n"


@pytest.mark.parametrize(("content", "count"), [(REVIEWS, 2), (REVIEWS + "so so,bad\n", 5), (NUMBERS, 2)])
def test_rows_contradict_each_other_where_their_texts_are_equal_but_for_capitals(
    tmp_path: Path, content: str, count: int
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(content, encoding="utf-8")
    task = own_task(file)
    rows = [row for split in ("train", "dev") for row in task.load(source_of(None), split).rows]
    assert _contradicted(task, rows) == count
