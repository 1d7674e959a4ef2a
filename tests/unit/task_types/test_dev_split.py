"""Rows held out: the dev split of one file, nested shares of the training rows, and folds of a search."""

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
from finetune.runs.recipe import HeldOut
from finetune.task_types.dev_split import dev_rows
from finetune.task_types.held_out import divided, held_out_rows, with_share
from finetune.task_types.options import resolved
from finetune.task_types.task import Task

SPLIT = {12, 13, 19, 20, 26, 30, 43, 63, 64, 95, 96}
OF_SMALL_GROUPS = {0, 1, 2, 5, 7, 10, 16, 17, 18, 20, 21, 22, 23, 26, 27, 28, 29, 33, 35, 38}
GROUPED = {19, 23, 35, 39, 43, 47, 51, 55, 59, 67, 71, 79}


def test_a_split_does_not_change_between_versions() -> None:
    """These sets were drawn when rows were grouped in lists of texts; runs on users' files depend on them."""
    texts, strata = [f"text {i % 83}" for i in range(100)], ["ab"[i % 3 == 0] for i in range(100)]
    groups = [(1, "1", "x", i)[i % 4] for i in range(100)]
    assert dev_rows(texts, strata) == SPLIT
    assert dev_rows(texts, strata, groups, share=0.4) == GROUPED
    assert {99 - i for i in dev_rows(texts[::-1], strata[::-1], groups[::-1], share=0.4)} == GROUPED  # in any order
    assert dev_rows([], []) == set()
    many, mostly_one = [f"text {i}" for i in range(200)], [f"user {min(i, 40)}" for i in range(200)]
    assert dev_rows(many, ["x"] * 200, mostly_one) == OF_SMALL_GROUPS
    assert len(dev_rows(many, [f"class {i % 100}" for i in range(200)])) == 40  # 100 classes of two rows
    assert len(dev_rows(["a", "b", "c"], ["x", "y", "y"], ["one", "two", "two"])) == 1


def test_folds_are_stratified_and_share_no_row_and_no_text(tmp_path: Path) -> None:
    """Of a file in which each tenth row repeats a text."""
    lines = [f"a text of {i - i % 10 if i % 10 == 1 else i},{'good' if i % 4 else 'bad'}" for i in range(200)]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *lines]))
    _, task = resolved(str(tmp_path / "rows.csv"), {})
    train: Rows = task.load(Source(), "train")
    parts = [held_out_rows(task, train, 0.25, 7, fold=fold) for fold in range(4)]
    assert sorted(index for part in parts for index in part) == [*range(len(train.rows))]
    for part in parts:
        texts = {train.rows[index].text for index in part}
        assert not texts & {row.text for index, row in enumerate(train.rows) if index not in part}
        assert Counter(train.rows[n].gold for n in part)["bad"] / len(part) == pytest.approx(0.25, abs=0.06)
    kept, held = divided(task, train, HeldOut(share=0.25, seed=7))
    assert [row.id for row in held.rows] == [train.rows[index].id for index in sorted(parts[0])]
    assert len(kept.rows) + len(held.rows) == len(train.rows)
    assert held != divided(task, train, HeldOut(share=0.25, seed=8))[1]


def share_of(task: Task, rows: Sequence[Any], share: float, seed: int = 0) -> list[str]:
    return [row.id for row in with_share(task, Rows(rows=rows, origin="made up"), share, seed=seed).rows]


@pytest.mark.parametrize("task", every_shape()[:-5], ids=lambda task: task.name)
def test_smaller_shares_are_within_larger_ones(task: Task) -> None:
    rows = task.load(Source(), "train").rows
    found = [share_of(task, rows, share) for share in (0.1, 0.25, 0.5, 1.0)]
    group = 4 if task.scored_by else 1  # a query's rows stay together
    wanted = [group * round(share * len(rows) / group) for share in (0.1, 0.25, 0.5)]
    assert [len(some) for some in found[:3]] == wanted
    assert all(set(some) < set(more) for some, more in pairwise(found))
    assert found[-1] == [row.id for row in rows]
    assert share_of(task, rows, 0.25, seed=1) != found[1]
    if not task.scored_by:
        assert {*share_of(task, rows[::-1], 0.25)} == {*found[1]}


def test_labels_keep_their_shares_and_no_class_is_lost() -> None:
    labels = ["a"] * 700 + ["b"] * 290 + ["c"] * 10
    rows = [replace(row, gold=label) for row, label in zip(cat_rows(1000), labels, strict=True)]
    for share, wanted in ((0.1, (70, 29, 1)), (0.5, (350, 145, 5)), (0.003, (1, 1, 1))):
        kept = Counter(labels[int(name)] for name in share_of(cat_task(rows), rows, share))
        assert [kept[label] for label in "abc"] == pytest.approx(wanted, abs=share > 0.01)


def test_sentences_that_are_read_together_stay_together() -> None:
    task = tag_task(context="document")
    sentences = task.load(Source(), "train").rows[:40]
    rows = [replace(row, document=f"{i // 4}", id=str(i)) for i, row in enumerate(sentences)]
    kept = {int(name) for name in share_of(task, rows, 0.3)}
    assert len(kept) == 12 and {i // 4 * 4 + k for i in kept for k in range(4)} == kept
