"""What the cards of a report are made of, against known values."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.records import made_record, save_predictions
from support.reports import facts_of
from support.toys import cat_rows, cat_task, labelled_shapes

from finetune.analysis.label_errors import beliefs, suspects
from finetune.commands.report.content import SplitPage, read_losses
from finetune.commands.report.split import calibration_block, rows_block
from finetune.data.source import Source
from finetune.runs.recipe_diff import settings_of
from finetune.task_types.marked_text import cut
from finetune.task_types.parts import Answer
from finetune.task_types.saved_predictions import labelled_table
from finetune.task_types.span.answers import SpanAnswer
from finetune.task_types.task import Task
from finetune.task_types.types import own_types, type_of


def test_losses_are_those_of_the_last_training() -> None:
    def updates(update: int, *losses: float) -> str:
        return json.dumps({"event": "updates", "update": update, "losses": losses})

    def training(done: int) -> str:
        return json.dumps({"event": "training", "done": done})

    interrupted = [training(0), updates(2, 9, 9), updates(4, 8, 8), training(2), updates(4, 1, 2)]
    assert read_losses(interrupted) == ([(1, 9), (2, 9), (3, 1), (4, 2)], 0)
    restarted = [training(0), updates(3, 9, 9, 9), training(0), updates(1, 5), '{"event": "upda']
    assert read_losses(restarted) == ([(1, 5)], 1)


def test_settings_are_shown_with_their_defaults() -> None:
    task = cat_task()
    rows = task.load(Source(), "dev").rows
    record = made_record(task.name, **facts_of(task, task.score(task.labels_of(rows), rows), 7))
    record = record.model_copy(update={"recipe": record.recipe | {"options": {"fold": 2}, "train": {"epochs": 9}}})
    changed = {one.key: (*one.values, one.default) for one in settings_of([record]) if one.changed}
    assert changed == {
        "model": ("tiny", "google-bert/bert-base-uncased"), "seed": (7, 42), "options.fold": (2, None),
        "train.epochs": (9, 3),
    }  # fmt: skip


def test_texts_are_cut_and_freed_of_what_steers_a_browser() -> None:
    assert cut("a" * 500) == "a" * 400 + " … (100 characters more)"
    assert cut("a\x00b\u202ec") == "a\ufffdb\ufffdc"


def table_for(task: Task, answers: Sequence[Answer], tmp_path: Path, *, name: str = "") -> Any:
    """The table of answers to a toy's rows."""
    from finetune.runs.predictions import read_predictions

    save_predictions(tmp_path / "p.parquet", task, task.load(Source(), "dev").rows, answers)
    return labelled_table(
        own_types().get(name), read_predictions(tmp_path / "p.parquet"), names=getattr(task, "labels", ())
    )


def test_golds_that_were_turned_are_suggested_and_no_others(tmp_path: Path) -> None:
    rows = cat_rows(64)
    turned = {5, 40}
    answers = [
        Answer(value=row.gold, probabilities=[0.02, 0.98] if row.gold == "yes" else [0.98, 0.02]) for row in rows
    ]
    answers[7] = Answer(value="no" if rows[7].gold == "yes" else "yes", probabilities=[0.55, 0.45])  # unsure and wrong
    other = {"yes": "no", "no": "yes"}
    task = cat_task([replace(row, gold=other[row.gold]) if i in turned else row for i, row in enumerate(rows)])
    table = table_for(task, answers, tmp_path)
    assert np.flatnonzero(suspects(table, None)).tolist() == [5, 40]
    assert np.flatnonzero(table.wrong).tolist() == [5, 7, 40]


def test_errors_of_a_model_that_is_too_sure_are_no_label_errors(tmp_path: Path) -> None:
    """A third is wrong with 99 %: at the temperature that the page computes, it is as sure as it is right."""
    rows = cat_rows(60)
    other = {"yes": "no", "no": "yes"}
    values = [other[str(row.gold)] if number % 3 == 0 else row.gold for number, row in enumerate(rows)]
    sure = [0.98 + 0.01 * (number % 3 == 0) for number in range(60)]
    answers = [
        Answer(value=name, probabilities=[1 - p, p] if name == "yes" else [p, 1 - p])
        for name, p in zip(values, sure, strict=True)
    ]
    table = table_for(cat_task(rows), answers, tmp_path)
    assert suspects(table, None).sum() == 20
    assert not suspects(table, table.temperature).any()
    (block,) = rows_block(SplitPage(table=table, section="dev", budget=10**6, temperature=(table.temperature, "dev")))
    assert block.filters is not None and block.filters["suspects"] == 0


def test_labels_are_believed_less_than_others_of_their_class(tmp_path: Path) -> None:
    """A small model is sure of nothing: the least believed labels are found without any threshold."""
    rows = cat_rows(64)
    turned = {5, 40}
    answers = [Answer(value=row.gold, probabilities=[0.44, 0.56] if row.gold == "yes" else [0.7, 0.3]) for row in rows]
    other = {"yes": "no", "no": "yes"}
    task = cat_task([replace(row, gold=other[row.gold]) if i in turned else row for i, row in enumerate(rows)])
    table = table_for(task, answers, tmp_path)
    assert not suspects(table, None).any()
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
    (block,) = rows_block(SplitPage(table=table_for(cat_task(rows), answers, tmp_path), section="dev", budget=10**6))
    assert block.filters is not None
    shown = block.filters["data"]["rows"]
    assert [row[0] for row in shown[:2]] == [9, 3] and len(shown) == 64
    assert [row[0] for row in shown if row[11]] == [9]
    assert shown[0][12] == 0
    right = shown[2:]
    assert [row[12] < 20 for row in right] == [True] * 18 + [False] * 44
    assert [any("probability of the label" in fact for fact in row[7]) for row in shown] == [True] * 20 + [False] * 44
    for part in (right[:18], right[18:]):
        assert (np.diff([row[5] for row in part]) <= 0).all()


def test_the_error_at_the_temperature_is_that_of_scaled_probabilities(tmp_path: Path) -> None:
    """Half of the rows are right, all with 90 %: at a very high temperature the confidence is 50 %."""
    rows = cat_rows(64)
    other = {"yes": "no", "no": "yes"}
    values = [other[str(row.gold)] if number % 2 else str(row.gold) for number, row in enumerate(rows)]
    answers = [Answer(value=name, probabilities=[0.1, 0.9] if name == "yes" else [0.9, 0.1]) for name in values]
    table = table_for(cat_task(rows), answers, tmp_path)
    split = SplitPage(table=table, section="dev", temperature=(1e6, "dev"))
    (block,) = calibration_block(split)
    assert "(ECE) 40.0 points over 64 rows" in block.note
    assert "At the temperature 1000000.00, which has the least log loss on dev, 0.0." in block.note


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


def test_every_shape_has_a_table(tmp_path: Path) -> None:
    for task in labelled_shapes():
        kind = type_of(task)
        assert kind is not None
        gold = task.labels_of(task.load(Source(), "dev").rows)
        perfect = [SpanAnswer(value=a.value, start=0, end=0) for a in gold] if "spans" in task.name else gold
        table = table_for(task, perfect, tmp_path, name=kind.name)
        assert table.score.mean() == (table.right is not None)
        assert not table.wrong.any()
        assert all(there == answered == right for there, answered, right in table.classes.values())
        assert len(table.lengths) == 64
