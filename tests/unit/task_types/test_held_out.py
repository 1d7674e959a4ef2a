"""Rows that a search holds out."""

from collections import Counter
from pathlib import Path

import pytest

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import HeldOut
from finetune.task_types.held_out import divided
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
    parts = [divided(task, train, HeldOut(share=0.25, fold=fold, seed=7)) for fold in range(4)]
    assert sorted(row.id for _, part in parts for row in part.rows) == sorted(row.id for row in train.rows)
    for kept, part in parts:
        assert len(kept.rows) + len(part.rows) == len(train.rows)
        assert not {row.text for row in kept.rows} & {row.text for row in part.rows}
        share = Counter(row.gold for row in part.rows)["bad"] / len(part.rows)
        assert share == pytest.approx(0.25, abs=0.06)
    again = divided(task, train, HeldOut(share=0.25, fold=0, seed=7))
    assert again == parts[0] != divided(task, train, HeldOut(share=0.25, fold=0, seed=8))


def test_groups_and_parts_without_rows_are_refused(rows: tuple[str, str]) -> None:
    _, task = resolved(rows[1], {"group": "person"})
    with pytest.raises(UserError, match="person must stay together"):
        divided(task, task.load(Source(), "train"), HeldOut(share=0.2))
    _, task = resolved(rows[0], {})
    with pytest.raises(UserError, match="without rows"):
        divided(task, task.load(Source(), "train"), HeldOut(share=0.0001))
    with pytest.raises(UserError, match="beyond the end"):
        Recipe(task="rte").with_settings({"held_out.share": 0.5, "held_out.fold": 2}, origin="here")
