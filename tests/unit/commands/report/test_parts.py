"""What the cards of a report are made of, against known values."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.records import save_predictions
from support.toys import cat_rows, cat_task

from finetune.analysis.label_errors import beliefs
from finetune.commands.report.split import rows_block
from finetune.data.source import Source
from finetune.task_types.parts import Answer
from finetune.task_types.saved_predictions import labelled_table
from finetune.task_types.task import Task
from finetune.task_types.types import own_types

DOUBT = 10  # the place in a row of the page


def table_for(task: Task, answers: Sequence[Answer], tmp_path: Path, *, name: str = "") -> Any:
    """The table of answers to a toy's rows."""
    from finetune.runs.folder import read_predictions

    save_predictions(tmp_path / "p.parquet", task, task.load(Source(), "dev").rows, answers)
    return labelled_table(
        own_types().get(name), read_predictions(tmp_path / "p.parquet"), names=getattr(task, "labels", ())
    )


def test_labels_are_believed_less_than_others_of_their_class(tmp_path: Path) -> None:
    """A small model is sure of nothing: the least believed labels are found without any threshold."""
    rows = cat_rows(64)
    turned = {5, 40}
    answers = [Answer(value=row.gold, probabilities=[0.44, 0.56] if row.gold == "yes" else [0.7, 0.3]) for row in rows]
    other = {"yes": "no", "no": "yes"}
    task = cat_task([replace(row, gold=other[row.gold]) if i in turned else row for i, row in enumerate(rows)])
    table = table_for(task, answers, tmp_path)
    found = beliefs(table)
    assert found is not None
    chances, relative = found.chances, found.belief
    assert set(np.argsort(relative)[:2]) == turned
    golds = np.array([line["gold"] for line in table.lines])
    assert relative[golds == "yes"].mean() == pytest.approx(0, abs=1e-9)
    assert chances[5] == pytest.approx(0.3 if golds[5] == "yes" else 0.44)


def test_rows_are_ordered_by_error_then_doubt_then_confidence(tmp_path: Path) -> None:
    rows = cat_rows(64)
    sure = np.linspace(0.6, 0.8, len(rows))
    wrong = {3: 0.55, 9: 0.95}  # the confidence of an error
    answers = [
        Answer(value=row.gold, probabilities=[1 - p, p] if row.gold == "yes" else [p, 1 - p])
        for row, p in zip(rows, sure.tolist(), strict=True)
    ]
    for index, p in wrong.items():
        other = {"yes": "no", "no": "yes"}[rows[index].gold]
        answers[index] = Answer(value=other, probabilities=[1 - p, p] if other == "yes" else [p, 1 - p])
    block = rows_block(table_for(cat_task(rows), answers, tmp_path), "dev", 10**6)
    assert block.filters is not None
    shown = block.filters["data"]["rows"]
    assert [row[0] for row in shown[:2]] == [9, 3] and len(shown) == 64
    assert shown[0][DOUBT] == 0
    right = shown[2:]
    assert [row[DOUBT] < 20 for row in right] == [True] * 18 + [False] * 44
    assert [any("probability of the label" in fact for fact in row[7]) for row in shown] == [True] * 20 + [False] * 44
    for part in (right[:18], right[18:]):
        assert (np.diff([row[5] for row in part]) <= 0).all()


def test_a_word_and_a_label_of_several_are_believed_each(tmp_path: Path) -> None:
    tags = {"words": ["a", "b"], "gold": ["O", "B-X"], "prediction": ["O", "O"], "probabilities": [0.9, 0.8], "id": "1"}
    old = labelled_table(None, [tags])  # from before the labels' probabilities were saved
    assert old is not None and beliefs(old) is None
    tags |= {"label_probabilities": [0.9, 0.2]}
    sure = tags | {"prediction": ["O", "B-X"], "label_probabilities": [math.nan, 0.8], "id": "2"}
    table = labelled_table(None, [tags, sure])
    assert table is not None and (found := beliefs(table)) is not None
    assert found.chances.tolist() == pytest.approx([0.2, 0.8])  # of the word that is believed least
    assert found.belief.tolist() == pytest.approx([math.log(0.2 / 0.4), math.log(0.8 / 0.4)])
    several = {"text": "a", "gold": ["x"], "prediction": [], "probabilities": [0.1, 0.2], "id": "1"}
    table = labelled_table(None, [several, several | {"gold": []}], names=["x", "y"])
    assert table is not None and (found := beliefs(table)) is not None
    assert found.chances[0] == pytest.approx(0.1)
