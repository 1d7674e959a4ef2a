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
from finetune.analysis.temperature import Temperature, temperature_of
from finetune.commands.report.content import SplitView, read_losses
from finetune.commands.report.split import calibration_block, rows_block
from finetune.data.source import Source
from finetune.runs.recipe_diff import settings_of
from finetune.task_types.marked_text import Segment, cut, entities, spans
from finetune.task_types.parts import Answer
from finetune.task_types.span.answers import SpanAnswer
from finetune.task_types.tagging.row import word_places
from finetune.task_types.task import Task
from finetune.task_types.types import type_of, view_of


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


def test_entities_are_marked_by_whether_both_sides_have_them() -> None:
    words = ["the", "big", "house", "saw", "a", "cat"]
    found = [("PLACE", 1, 3), ("ANIMAL", 5, 6)]
    part = entities("gold", " ".join(words), word_places(words, ()), found, found[1:], otherwise="missed", around=0)
    assert [(s.text, s.mark, s.label) for s in part.segments if s.mark] == [
        ("big house", "missed", "PLACE"),
        ("cat", "right", "ANIMAL"),
    ]
    assert "".join(s.text for s in part.segments).split() == words
    many = ["w"] * 500
    long = entities("gold", " ".join(many), word_places(many, ()), [("X", 450, 451)], [], otherwise="wrong", around=450)
    assert sum(s.text.count("w") for s in long.segments) == 60
    assert [s.mark for s in long.segments if s.mark] == ["wrong"]


def test_spans_are_marked_and_what_both_have_is_right() -> None:
    part = spans("context", "abcdefghij", [(2, 5, "gold"), (4, 7, "prediction")])
    assert part.segments == [
        Segment(text="ab"), Segment(text="cd", mark="gold"), Segment(text="e", mark="right"),
        Segment(text="fg", mark="prediction"), Segment(text="hij"),
    ]  # fmt: skip
    far = spans("context", "x" * 1_000 + "gold" + "x" * 1_000, [(1_000, 1_004, "gold")])
    assert len("".join(s.text for s in far.segments)) < 400


def lines_of(task: Task, answers: Sequence[Answer], tmp_path: Path, *, name: str = "") -> Any:
    """The view of answers to a toy's rows."""
    from finetune.runs.predictions import read_predictions

    save_predictions(tmp_path / "p.parquet", task, task.load(Source(), "dev").rows, answers)
    return view_of(read_predictions(tmp_path / "p.parquet"), getattr(task, "labels", ()), name=name)


def test_golds_that_were_turned_are_suggested_and_no_others(tmp_path: Path) -> None:
    rows = cat_rows(64)
    turned = {5, 40}
    answers = [
        Answer(value=row.gold, probabilities=[0.02, 0.98] if row.gold == "yes" else [0.98, 0.02]) for row in rows
    ]
    answers[7] = Answer(value="no" if rows[7].gold == "yes" else "yes", probabilities=[0.55, 0.45])  # unsure and wrong
    other = {"yes": "no", "no": "yes"}
    task = cat_task([replace(row, gold=other[row.gold]) if i in turned else row for i, row in enumerate(rows)])
    view = lines_of(task, answers, tmp_path)
    assert np.flatnonzero(suspects(view, None)).tolist() == [5, 40]
    assert np.flatnonzero(view.wrong()).tolist() == [5, 7, 40]


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
    view = lines_of(cat_task(rows), answers, tmp_path)
    assert suspects(view, None).sum() == 20
    assert not suspects(view, temperature_of(view)).any()
    (block,) = rows_block(SplitView(view=view, section="dev", budget=10**6, temperature=temperature_of(view)))
    assert block.filters is not None and block.filters["suspects"] == 0


def test_labels_are_believed_less_than_others_of_their_class(tmp_path: Path) -> None:
    """A small model is sure of nothing: the least believed labels are found without any threshold."""
    rows = cat_rows(64)
    turned = {5, 40}
    answers = [Answer(value=row.gold, probabilities=[0.44, 0.56] if row.gold == "yes" else [0.7, 0.3]) for row in rows]
    other = {"yes": "no", "no": "yes"}
    task = cat_task([replace(row, gold=other[row.gold]) if i in turned else row for i, row in enumerate(rows)])
    view = lines_of(task, answers, tmp_path)
    assert not suspects(view, None).any()
    found = beliefs(view)
    assert found is not None
    chances, relative = found.chances, found.belief
    assert set(np.argsort(relative)[:2]) == turned
    golds = np.array([line["gold"] for line in view.lines])
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
    (block,) = rows_block(SplitView(view=lines_of(cat_task(rows), answers, tmp_path), section="dev", budget=10**6))
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
    view = lines_of(cat_task(rows), answers, tmp_path)
    split = SplitView(view=view, section="dev", temperature=Temperature(value=1e6, fitted_on="dev"))
    (block,) = calibration_block(split)
    assert "(ECE) 40.0 points over 64 rows" in block.note
    assert "At the temperature 1000000.00, which has the least log loss on dev, 0.0." in block.note


def test_a_word_and_a_label_of_several_are_believed_each(tmp_path: Path) -> None:
    tags = {"words": ["a", "b"], "gold": ["O", "B-X"], "prediction": ["O", "O"], "probabilities": [0.9, 0.8], "id": "1"}
    old = view_of([tags])  # from before the labels' probabilities were saved
    assert old is not None and beliefs(old) is None
    tags |= {"label_probabilities": [0.9, 0.2]}
    sure = tags | {"prediction": ["O", "B-X"], "label_probabilities": [math.nan, 0.8], "id": "2"}
    view = view_of([tags, sure])
    assert view is not None and (found := beliefs(view)) is not None
    assert found.chances.tolist() == pytest.approx([0.2, 0.8])  # of the word that is believed least
    assert found.belief.tolist() == pytest.approx([math.log(0.2 / 0.4), math.log(0.8 / 0.4)])
    several = {"text": "a", "gold": ["x"], "prediction": [], "probabilities": [0.1, 0.2], "id": "1"}
    view = view_of([several, several | {"gold": []}], ["x", "y"])
    assert view is not None and (found := beliefs(view)) is not None
    assert found.chances[0] == pytest.approx(0.1)


def test_every_shape_knows_its_view(tmp_path: Path) -> None:
    for task in labelled_shapes():
        kind = type_of(task)
        assert kind is not None
        gold = task.labels_of(task.load(Source(), "dev").rows)
        perfect = [SpanAnswer(value=a.value, start=0, end=0) for a in gold] if "spans" in task.name else gold
        view = lines_of(task, perfect, tmp_path, name=kind.name)
        assert type(view) is kind.view
        assert view.scores().mean() == view.bounded
        assert not view.wrong().any()
        assert all(one.f1 == 1 for one in view.classes() if one.gold)
        assert len(view.lengths()) == 64
    assert view_of([]) is None
    assert view_of([{"id": "1", "gold": None, "prediction": None}]) is None
    assert view_of([{"id": "1", "gold": 1, "prediction": 1, "shape": "of its own"}]) is None
