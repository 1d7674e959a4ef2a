"""Rows that a search holds out."""

from collections import Counter
from pathlib import Path

import pytest

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.runs.recipe_tables import HeldOut
from finetune.task_types.held_out import divided, held_out_rows
from finetune.task_types.options import resolved


@pytest.fixture
def rows(tmp_path: Path) -> tuple[str, str]:
    """A file of 200 rows, of which each tenth repeats a text, and its form with groups."""
    lines = [f"a text of {i - i % 10 if i % 10 == 1 else i},{'good' if i % 4 else 'bad'},g{i // 4}" for i in range(200)]
    plain, grouped = tmp_path / "rows.csv", tmp_path / "grouped.csv"
    plain.write_text("\n".join(["text,label", *(line.rpartition(",")[0] for line in lines)]))
    grouped.write_text("\n".join(["text,label,person", *lines]))
    return str(plain), str(grouped)


def test_folds_are_stratified_and_share_no_row_and_no_text(rows: tuple[str, str]) -> None:
    _, task = resolved(rows[0], {})
    train: Rows = task.load(Source(), "train")
    parts = [held_out_rows(task, train, 0.25, 7, fold=fold) for fold in range(4)]
    assert sorted(index for part in parts for index in part) == [*range(len(train.rows))]
    for part in parts:
        texts = {train.rows[index].text for index in part}
        assert not texts & {row.text for index, row in enumerate(train.rows) if index not in part}
        share = Counter(train.rows[index].gold for index in part)["bad"] / len(part)
        assert share == pytest.approx(0.25, abs=0.06)
    kept, held = divided(task, train, HeldOut(share=0.25, seed=7))
    assert [row.id for row in held.rows] == [train.rows[index].id for index in sorted(parts[0])]
    assert len(kept.rows) + len(held.rows) == len(train.rows)
    assert held != divided(task, train, HeldOut(share=0.25, seed=8))[1]


def test_groups_and_parts_without_rows_are_refused(rows: tuple[str, str]) -> None:
    _, task = resolved(rows[1], {"group": "person"})
    with pytest.raises(UserError, match="person must stay together"):
        divided(task, task.load(Source(), "train"), HeldOut(share=0.2))
    _, task = resolved(rows[0], {})
    with pytest.raises(UserError, match="without rows"):
        divided(task, task.load(Source(), "train"), HeldOut(share=0.0001))
