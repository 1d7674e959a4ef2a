"""Runs with a teacher and with a text: the losses of a student, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from support.cli import Finetune, assert_error
from support.records import change_record
from support.runs import DATA, FAST, REVIEWS, FinishedRun, as_csv
from support.toys import cat_task
from support.training import Losses, build, unscored

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.feature import LABEL, TAUGHT, label_counts
from finetune.runs.recipe_tables import Distil, Train
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.training.first_runs import with_teachers
from finetune.training.prepare import plan_run
from finetune.training.targets import load_target
from finetune.training.teacher import (
    DistillationFeatures,
    DistillationLosses,
    logits_of_rows,
    mean_of_teachers,
    soft_loss,
)

T = 2.5
SETTINGS = [f"{key}={value}" for key, value in (FAST | {"train.epochs": 2}).items()]


def records(folder: Path) -> dict[str, RunRecord]:
    return {file.parent.name: load_record(file) for file in folder.glob("results/*/*/record.json")}


def test_a_student_learns_of_its_teacher_and_of_texts(
    here: Finetune, tmp_path: Path, tiny_bert: Path, reviews: Path
) -> None:
    (tmp_path / "reviews.csv").write_text(as_csv(("review", "mark"), *REVIEWS))
    more = [*(f"the cat ran {i}" for i in range(40)), *(text for text, _ in REVIEWS)]
    (tmp_path / "more.csv").write_text(as_csv(("review",), *((text,) for text in more)))
    told = [f"model={tiny_bert}", "keep_layers=[1]", *SETTINGS]
    taught = ["run", "reviews.csv", *told, f"distil.teacher={reviews}", "distil.weak=true", "distil.text=more.csv"]
    done = here(*taught)
    assert done.returncode == 0, done.stderr
    assert "more.csv: 8 rows left out, which the student is scored on" in done.stderr
    assert "more.csv: 112 rows without labels" in done.stderr
    (student,) = records(tmp_path).values()
    assert sum("more.csv" in note for note in student.notes) == 2
    assert student.recipe["distil"]["teacher"] == str(reviews)
    assert here(*taught).returncode == 0  # a second time nothing is trained
    assert len(records(tmp_path)) == 1
    assert here("run", "reviews.csv", *told).returncode == 0  # the same student without a teacher is another run
    plain, *_ = records(tmp_path).keys() - {student.id}
    compared = here("compare", student.id, plain)
    assert compared.returncode == 0, compared.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["distil.teacher=FOLDER"], "is not a finished run"),
        (["distil.teacher=nothing"], "'nothing' names no finished run"),
        (["distil.teacher="], "distil.teacher is empty"),
        (["distil.weight=0.3"], "without a teacher"),
        (["distil.soft=true"], "'distil.soft' was taken out"),
        (["distil.teacher=RUN", "distil.states=true"], "'distil.states' was taken out"),
        (["distil.text=a.csv"], "without a teacher"),
        (["distil.teacher=RUN", "distil.weak=true", "distil.text=a.csv"], "there is no such file"),
        (["distil.teacher=RUN", "distil.weak=true", "distil.text=other.csv"], "as in training: review"),
        (["distil.teacher=RUN", "distil.temperature=0"], "distil.temperature"),
        (["distil.teacher=RUN", "distil.weak=true", "keep_layers=[7]"], "this encoder has the layers 0 to 1"),
        (["keep_layers=[1,0]"], "in rising order"),
    ],
)
def test_what_cannot_be_taught_is_said_in_a_line(
    settings: list[str], message: str, here: Finetune, tmp_path: Path, tiny_bert: Path, reviews: Path
) -> None:
    (tmp_path / "reviews.csv").write_text(as_csv(("review", "mark"), *REVIEWS))
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.csv").write_text(as_csv(("opinion", "page"), ("good film", "1"), ("bad film", "2")))
    given = [one.replace("FOLDER", "folder").replace("RUN", str(reviews)) for one in settings]
    refused = here("run", "reviews.csv", f"model={tiny_bert}", *SETTINGS, *given)
    assert refused.returncode == 2
    assert_error(refused.stderr, message)


def test_a_teacher_of_another_kind_is_refused(finished_run: FinishedRun, reviews: Path, tmp_path: Path) -> None:
    (tmp_path / "stars.csv").write_text(as_csv(("review", "mark"), *((t, m.upper()) for t, m in REVIEWS)))
    (tmp_path / "reviews.csv").write_text(as_csv(("review", "mark"), *REVIEWS))

    def student(file: str, teacher: Path, **more: Any) -> None:
        settings = {"text": "review", "label": "mark", "distil.teacher": str(teacher), **more}
        with_teachers(load_target(str(tmp_path / file), settings), tmp_path)

    with pytest.raises(UserError, match="it has the labels bad, good, and stars"):
        student("stars.csv", reviews)
    with pytest.raises(UserError, match=r"it is a regression model, and .* is a classification task"):
        student("reviews.csv", finished_run("regression"))


@pytest.mark.parametrize("kind", ["span", "tagging", "regression"])
def test_a_task_without_classes_is_not_taught(kind: str, finished_run: FinishedRun, tmp_path: Path) -> None:
    name, content = DATA[kind][:2]
    (tmp_path / name).write_text(content)
    settings = {"distil.teacher": str(finished_run(kind))}
    with pytest.raises(UserError, match="a teacher's classes are learned, and it has none"):
        with_teachers(load_target(str(tmp_path / name), settings), tmp_path)


def test_a_search_keeps_its_teacher_and_tells_texts_apart(reviews: Path, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text(as_csv(("review", "mark"), *REVIEWS))
    texts = [tmp_path / f"{name}.csv" for name in ("cats", "dogs")]
    for text in texts:
        text.write_text(as_csv(("review",), (f"the {text.stem} ran",)))
    told = {"model": str(tiny_bert), "distil.teacher": str(reviews), "distil.weak": True}
    base = with_teachers(load_target(str(tmp_path / "reviews.csv"), told), tmp_path)
    recipes = [base.recipe.with_settings({"distil.text": str(text)}, origin="search") for text in texts]
    one, other = (plan_run(base.with_recipe(recipe), source=Source()) for recipe in recipes)
    assert one.id != other.id


def test_a_teacher_no_better_than_its_baselines_is_refused(copied_run: FinishedRun, tmp_path: Path) -> None:
    run = copied_run("sentence")
    baselines = load_record(run / "record.json").baselines
    baselines["dev"]["majority"]["macro f1"] = 1.0
    change_record(run / "record.json", baselines=baselines)
    (tmp_path / "reviews.csv").write_text(as_csv(("review", "mark"), *REVIEWS))
    settings = {"text": "review", "label": "mark", "distil.teacher": str(run)}
    with pytest.raises(UserError, match="the best of its own baselines has 100"):
        with_teachers(load_target(str(tmp_path / "reviews.csv"), settings), tmp_path)
    with_teachers(load_target(str(tmp_path / "reviews.csv"), settings | {"distil.weak": True}), tmp_path)


def test_a_loss_is_that_of_its_formula() -> None:
    generator = np.random.default_rng(0)
    logits, theirs = (3 * generator.standard_normal((4, 3)) for _ in range(2))
    wanted = softmax(theirs / T, -1)
    expected = T**2 * np.sum(wanted * (np.log(wanted) - log_softmax(logits / T, -1)))
    assert float(soft_loss(torch.tensor(logits), torch.tensor(wanted), T)) == pytest.approx(expected, rel=1e-5)
    assert float(soft_loss(torch.tensor(theirs), torch.tensor(wanted), T)) == pytest.approx(0, abs=1e-5)


def test_answers_of_several_teachers_are_the_mean_of_their_probabilities() -> None:
    one, other = np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])
    assert np.exp(mean_of_teachers([one, other]))[0] == pytest.approx([0.7, 0.3])
    assert mean_of_teachers([one]) is one


def lesson(folder: Path, settings: Train, distil: Distil) -> tuple[list[float], DistillationFeatures]:
    """The losses of training on half of a toy's rows with labels, and on the rest without."""
    losses = Losses()
    trainer, features = build(cat_task(), folder, settings, watch=losses)
    logits = logits_of_rows(features, [3 * each + 1 for each in trainer.engine.logits(features)], rows=len(features))
    half = len(features) // 2
    text = [replace(each, row=each.row - half, label=None) for each in features[half:]]
    targets = softmax(logits / distil.temperature, axis=-1).astype(np.float32)
    given = DistillationFeatures(features[:half], text, targets, rows=half)
    trainer.objective = DistillationLosses(head=trainer.model.head, settings=distil)
    trainer.fit(given, unscored)
    return losses.values, given


def test_parts_of_a_batch_learn_what_the_whole_learns(tiny_bert: Path) -> None:
    settings = Train(dropout=0.0, epochs=1, batch_size=16, learning_rate=1e-3)
    whole, given = lesson(tiny_bert, settings, Distil(teacher="any"))
    parts, _ = lesson(tiny_bert, settings.model_copy(update={"accumulation": 5}), Distil(teacher="any"))
    assert parts == pytest.approx(whole, rel=1e-3, abs=1e-5)
    assert whole[-1] > 0
    counts = label_counts(given[:])
    assert counts[TAUGHT] == 2 * counts[LABEL] > 0
