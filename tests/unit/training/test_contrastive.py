"""The contrastive first step: its loss, its batches, and a model that learns from few rows by it."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.cli import InProcess, assert_error
from support.encoders import SIZES
from support.predicted_files import written
from support.runs import REVIEWS
from support.toys import cat_task, choice_task, labels_task, length_task, tag_task
from support.training import build

import finetune
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.feature import Feature
from finetune.runs.events import unwatched
from finetune.runs.recipe_tables import Train
from finetune.runs.verdict import chosen_by_scored, known_to_model, verdict_of
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.task import Task
from finetune.training.contrastive import (
    TEMPERATURE,
    contrastive_loss,
    drawn_from,
    fit_contrastive,
    fit_then_all,
    shared_labels,
)
from finetune.training.contrastive import require_contrast as require
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.run import run
from finetune.training.run_options import RunOptions
from finetune.training.targets import expand_targets

CONTRASTIVE = Train(solver="contrastive", learning_rate=1e-3, epochs=10, batch_size=16, dropout=0.0)


def fitted(task: Task, folder: Path, train: Train = CONTRASTIVE) -> tuple[Evaluated, Any]:
    task = task.fit(task.load(Source(), "train").rows)
    trainer, features = build(task, folder, train)
    rows = task.load(Source(), "train").rows
    progress, found = fit_contrastive(
        trainer, features, DevEvaluation(task=task, rows={"dev": rows}, features={"dev": features})
    )
    return found, (progress, trainer)


def test_the_loss_is_the_papers() -> None:
    """Khosla et al. 2020, equation 2, row by row; the last row has none of its label and is left out."""
    vectors = torch.nn.functional.normalize(torch.randn(5, 8, generator=torch.Generator().manual_seed(0)), dim=1)
    labels = [0, 1, 0, 0, 2]
    each = []
    for row in range(5):
        others = [other for other in range(5) if other != row]
        total = sum(math.exp(vectors[row] @ vectors[other] / TEMPERATURE) for other in others)
        same = [other for other in others if labels[other] == labels[row]]
        shares = [math.log(math.exp(vectors[row] @ vectors[other] / TEMPERATURE) / total) for other in same]
        each += [-sum(shares) / len(same)] if same else []
    found = contrastive_loss(vectors, shared_labels(torch.tensor(labels)))
    assert len(each) == 3
    assert float(found) == pytest.approx(sum(each) / len(each), rel=1e-5)


def test_a_batch_without_a_pair_has_no_loss_and_a_gradient_of_zero() -> None:
    vectors = torch.eye(3, requires_grad=True)
    loss = contrastive_loss(vectors, shared_labels(torch.tensor([0, 1, 2])))
    loss.backward()
    assert float(loss.detach()) == 0
    assert vectors.grad is not None
    assert bool((vectors.grad == 0).all())


def test_rows_of_several_labels_are_alike_by_what_they_share() -> None:
    found = shared_labels(torch.tensor([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]))
    assert found[0].tolist() == [1, 0.5, 0, 0]
    assert found[3].tolist() == [0, 0, 0, 0]


def features(labels: list[Any]) -> list[Feature]:
    return [Feature(row=row, input_ids=[1], label=label) for row, label in enumerate(labels)]


def test_a_batch_has_equally_many_rows_of_each_label() -> None:
    draw = drawn_from(features([0] * 40 + [1] * 8), size=16)
    drawn = draw([], np.random.default_rng(0))
    assert sorted(feature.label for feature in drawn) == [0] * 8 + [1] * 8
    assert [f.row for f in drawn] == [f.row for f in draw([], np.random.default_rng(0))]
    assert [f.row for f in drawn] != [f.row for f in draw([], np.random.default_rng(1))]


def test_of_many_labels_a_batch_has_pairs_of_some() -> None:
    draw = drawn_from(features([label for label in range(100) for _ in range(4)]), size=16)
    for seed in range(5):
        labels = [feature.label for feature in draw([], np.random.default_rng(seed))]
        assert len(labels) == 16
        assert all(labels.count(label) == 2 for label in labels)


def test_rows_of_several_labels_are_drawn_once_a_batch() -> None:
    draw = drawn_from(features([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 0]]), size=12)
    drawn = [feature.row for feature in draw([], np.random.default_rng(0))]
    assert sorted(drawn) == [0, 1, 2]


def test_one_row_of_each_label_is_no_pair() -> None:
    with pytest.raises(UserError, match="each label has one row") as refused:
        drawn_from(features([0, 1, 2]), size=16)
    assert "Label a second row" in str(refused.value)
    assert len(drawn_from(features([0, 1, 1]), size=16)([], np.random.default_rng(0))) == 3


@pytest.mark.parametrize("task", [cat_task(), labels_task()], ids=lambda task: task.name)
def test_labels_are_learned(task: Task, tiny_bert: Path) -> None:
    found, (progress, _) = fitted(task, tiny_bert)
    assert found.headline > 0.9
    assert len(progress.epochs) == 1
    assert progress.epochs[0].dev_loss is None


def test_the_same_seed_gives_the_same_bits(tiny_bert: Path) -> None:
    first, second = (fitted(cat_task(), tiny_bert)[1][1].model.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_training_once_more_begins_from_the_start(tiny_bert: Path) -> None:
    first, (_, trainer) = fitted(cat_task(), tiny_bert)
    again, features = build(cat_task(), tiny_bert, CONTRASTIVE)
    progress, found = fit_then_all(again, features, lambda _: first, dev_features=[])
    expected, state = trainer.model.state_dict(), again.model.state_dict()
    assert all(torch.equal(expected[name], state[name]) for name in expected)
    assert found.scores == first.scores
    assert progress.notes == ["the saved model has learned dev's 0 rows too, after they were scored"]


@pytest.mark.parametrize("task", [tag_task(), length_task(), choice_task()], ids=lambda task: task.name)
def test_other_task_types_are_refused(task: Task, tiny_bert: Path) -> None:
    task = task.fit(task.load(Source(), "train").rows)
    trainer, _ = build(task, tiny_bert, CONTRASTIVE)
    with pytest.raises(UserError, match="is for labels of texts and of pairs"):
        require(trainer.model, frozen=False)


def test_what_cannot_be_contrasted_is_refused(tiny_bert: Path, tiny_roberta: Path) -> None:
    trainer, _ = build(cat_task(), tiny_bert, CONTRASTIVE)
    with pytest.raises(UserError, match="trains the encoder, and frozen = true"):
        require(trainer.model, frozen=True)
    trainer, _ = build(cat_task(), tiny_roberta, CONTRASTIVE)
    with pytest.raises(UserError, match=r"no pretrained pooler.*pooling=mean"):
        require(trainer.model, frozen=False)
    with pytest.raises(ValueError, match=r"batch_size 16 in 8 parts has fewer than 4 in each"):
        Train(solver="contrastive", batch_size=16, accumulation=8)


@pytest.mark.slow
def test_a_run_by_the_preset_is_scored_once_and_saved(tiny_bert: Path, tmp_path: Path) -> None:
    data = written(tmp_path / "a.csv", [("review", "mark"), *REVIEWS[:40]])
    settings = {"preset": "few-labels", "model": str(tiny_bert), "max_length": 16, "freeze_layers": 0}
    (planned,) = expand_targets([str(data)], settings)
    record = run(resolved_run(planned.recipe), RunOptions(source=Source(), out=tmp_path / "out"), watch=unwatched)
    assert record.parts == ("part", 1)
    assert len(record.epochs) == 1
    assert not chosen_by_scored(record)
    assert "linear-probe" in record.baselines["dev"]
    (folds,) = [note for note in record.notes if note.startswith("by 5 folds of the 36 training rows macro f1 is ")]
    assert ", and that of " in folds
    assert "the saved model has learned dev's 4 rows too, after they were scored" in record.notes
    assert str(verdict_of([record])).endswith(f"; only 4 rows; {folds}.")
    assert record.learned == ["dev"]
    (model,) = (tmp_path / "out").glob("*/*/model")
    assert known_to_model(record) == "the saved model has learned the rows of dev too, after these predictions"
    predictions = finetune.load(model).predict([text for text, _ in REVIEWS[:2]])
    assert len(predictions) == 2


def test_tags_are_refused_in_a_line(tiny_bert: Path, tmp_path: Path, in_process: InProcess) -> None:
    (tmp_path / "tags.conll").write_text("".join(f"the O\ncat B-PET\nno{n} O\n\n" for n in range(20)))
    given = [str(tmp_path / "tags.conll"), "preset=few-labels", f"model={tiny_bert}"]
    code, _, err = in_process("run", *given, data=tmp_path)
    assert code == 2
    assert_error(err, "is for labels of texts and of pairs. Leave it out here, and preset=few-labels, which sets it")


def test_an_encoder_without_a_layer_to_train_names_what_to_set(
    tiny_bert: Path, tmp_path: Path, in_process: InProcess
) -> None:
    rows = [(f"a {word} film {n}", word) for n in range(12) for word in ("good", "bad")]
    data = written(tmp_path / "shallow.csv", [("text", "label"), *rows])
    given = [str(data), "preset=few-labels", f"model={tiny_bert}", "pooling=mean"]
    code, _, err = in_process("run", *given, f"freeze_layers={SIZES['num_hidden_layers']}", data=tmp_path)
    assert code == 2
    assert_error(err, "freeze_layers leaves none of its layers. Set freeze_layers=0 with it")
    code, _, err = in_process("run", *given, "freeze_layers=0", "train.epochs=1", data=tmp_path)
    assert code == 0, err


def test_two_rows_are_too_few_for_a_dev(tiny_bert: Path, tmp_path: Path, in_process: InProcess) -> None:
    data = written(tmp_path / "two.csv", [("text", "label"), ("a good film", "good"), ("a bad film", "bad")])
    code, _, err = in_process("run", str(data), "preset=few-labels", f"model={tiny_bert}", data=tmp_path)
    assert code == 2
    assert_error(err, "too few rows to hold some out as dev. Label more rows, or give dev other rows: dev=FILE")


def test_one_row_a_label_is_refused_in_a_line(tiny_bert: Path, tmp_path: Path, in_process: InProcess) -> None:
    data = written(tmp_path / "one.csv", [("text", "label"), *((f"the cat {name} sat", name) for name in "abcd")])
    given = [str(data), f"dev={data}", "label=label", "shape=classification", "preset=few-labels"]
    code, _, err = in_process("run", *given, f"model={tiny_bert}", data=tmp_path)
    assert code == 2
    assert_error(err, "each label has one row. Label a second row of each")
