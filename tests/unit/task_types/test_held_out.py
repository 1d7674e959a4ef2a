"""Parts of the training rows: nested, stratified shares, and rows that a search holds out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.toys import cat_rows, cat_task, every_shape, tag_task

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.runs.recipe import HeldOut
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.held_out import divided, held_out_rows, with_share
from finetune.task_types.options import resolved
from finetune.task_types.task import Task


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


def share_of(task: Task, rows: Sequence[Any], share: float, seed: int = 0) -> list[str]:
    return [row.id for row in with_share(task, Rows(rows=rows, origin="made up"), share, seed=seed).rows]


@pytest.mark.parametrize("task", every_shape(), ids=lambda task: task.name)
def test_smaller_shares_are_within_larger_ones(task: Task) -> None:
    rows = task.load(Source(), "train").rows
    found = [share_of(task, rows, share) for share in (0.1, 0.25, 0.5, 1.0)]
    group = 4 if task.scored_by else 1  # a query's rows stay together
    wanted = [group * round(share * len(rows) / group) for share in (0.1, 0.25, 0.5)]
    assert [len(some) for some in found[:3]] == wanted
    for some, more in pairwise(found):
        assert set(some) < set(more)
    assert found[-1] == [row.id for row in rows]
    assert share_of(task, rows, 0.25, seed=1) != found[1]


def test_labels_keep_their_shares_and_no_class_is_lost() -> None:
    labels = ["a"] * 700 + ["b"] * 290 + ["c"] * 10
    rows = [SentenceRow(id=str(i), text=f"text {i}", gold=label) for i, label in enumerate(labels)]
    task = cat_task(rows)
    for share, wanted in ((0.1, (70, 29, 1)), (0.5, (350, 145, 5))):
        kept = Counter(labels[int(name)] for name in share_of(task, rows, share))
        assert [kept[label] for label in "abc"] == pytest.approx(wanted, abs=1)
    assert {labels[int(name)] for name in share_of(task, rows, 0.003)} == {"a", "b", "c"}


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows = cat_rows(60)
    assert sorted(share_of(cat_task(), rows, 0.3)) == sorted(share_of(cat_task(), rows[::-1], 0.3))


def test_sentences_that_are_read_together_stay_together() -> None:
    task = tag_task(context="document")
    rows = [replace(row, document=f"document {i // 4}") for i, row in enumerate(task.load(Source(), "train").rows[:40])]
    kept = {int(name) for name in share_of(task, [replace(row, id=str(i)) for i, row in enumerate(rows)], 0.3)}
    assert len(kept) == 12
    assert {i // 4 * 4 + k for i in kept for k in range(4)} == kept
