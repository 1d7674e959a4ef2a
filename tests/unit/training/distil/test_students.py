"""Runs with a teacher, with soft labels and with a text, by the command line; and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from finetune.training.distil.lessons import notes_on_scored_rows, soft_labels
from finetune.training.distil.teachers import with_teachers
from support.cli import Finetune, assert_error
from support.records import change_record
from support.runs import DATA, FAST, REVIEWS, FinishedRun, as_csv

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Distil, HeldOut
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.task_types.own_data import own_task
from finetune.task_types.resolved_run import resolved_run
from finetune.training.prepare import plan_run
from finetune.training.targets import load_target

SETTINGS = [f"{key}={value}" for key, value in (FAST | {"train.epochs": 2}).items()]


@pytest.fixture
def csv_file(tmp_path: Path) -> Path:
    """Reviews with the answers of `predict`."""
    rows = [(text, mark, *((0.1, 0.9) if mark == "good" else (0.8, 0.2))) for text, mark in REVIEWS]
    file = tmp_path / "soft.csv"
    file.write_text(as_csv(("review", "mark", "p(bad)", "p(good)"), *rows))
    return file


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
    assert not any("trained on other rows than these" in note for note in student.notes)
    assert student.recipe["distil"]["teacher"] == str(reviews)
    assert here(*taught).returncode == 0  # a second time nothing is trained
    assert len(records(tmp_path)) == 1
    assert here("run", "reviews.csv", *told).returncode == 0  # the same student without a teacher is another run
    plain, *_ = records(tmp_path).keys() - {student.id}
    compared = here("compare", student.id, plain)
    assert compared.returncode == 0, compared.stderr


@pytest.mark.slow
def test_soft_labels_of_a_file_are_learned(here: Finetune, tiny_bert: Path, csv_file: Path, tmp_path: Path) -> None:
    told = ["run", csv_file, f"model={tiny_bert}", *SETTINGS]
    assert here(*told).returncode == 0
    assert here(*told, "distil.soft=true").returncode == 0
    assert len(records(tmp_path)) == 2


def test_probabilities_become_logits(csv_file: Path) -> None:
    task = own_task(str(csv_file), {"text": "review", "label": "mark"})
    rows = task.read(None, "train").rows
    soft = soft_labels(task, rows)
    expected = {"good": {"good": 0.9, "bad": 0.1}, "bad": {"good": 0.2, "bad": 0.8}}
    assert list(soft) == [(number, 0) for number in range(len(rows))]
    for row, logits in zip(rows, soft.values(), strict=True):
        assert np.exp(logits).tolist() == pytest.approx([expected[row.gold][label] for label in task.labels])


def test_probabilities_alone_are_told_to_have_a_label(tmp_path: Path) -> None:
    rows = [(f"the cat saw {number} dogs on a mat", 0.9, 0.1) for number in range(20)]
    (tmp_path / "soft.csv").write_text(as_csv(("review", "p(good)", "p(bad)"), *rows))
    task = own_task(str(tmp_path / "soft.csv"), {"text": "review", "label": "p(good)"})
    with pytest.raises(UserError, match="label=COLUMN"):
        soft_labels(task, task.read(None, "train").rows)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ((0.9, 0.3), "row 1: the soft label has 1.2 as the sum"),
        ((0.5, "high"), "p(good) is 'high', not a probability"),
        ((1.5, -0.5), "p(bad) is '1.5', not a probability"),
    ],
)
def test_wrong_soft_labels_are_named(cells: tuple[Any, Any], message: str, tmp_path: Path) -> None:
    rows = [(text, mark, *cells) for text, mark in REVIEWS]
    file = tmp_path / "soft.csv"
    file.write_text(as_csv(("review", "mark", "p(bad)", "p(good)"), *rows))
    task = own_task(str(file), {"text": "review", "label": "mark"})
    first = next(row for row in task.read(None, "train").rows)
    with pytest.raises(UserError) as error:
        soft_labels(task, [first])
    assert message.partition("row 1")[2] in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["distil.teacher=FOLDER"], "is not a finished run"),
        (["distil.teacher=nothing"], "'nothing' names no finished run"),
        (["distil.teacher="], "distil.teacher is empty"),
        (["distil.weight=0.3"], "without a teacher"),
        (["distil.soft=true"], "there is no column p("),
        (["distil.soft=true", "distil.confidence=sure"], "'distil.confidence' was taken out"),
        (["distil.teacher=RUN", "distil.states=true"], "'distil.states' was taken out"),
        (["distil.soft=true", "distil.text=a.csv"], "needs a teacher"),
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
    for kind in ("regression", "tagging"):
        with pytest.raises(UserError, match=rf"it is a {kind} model, and .* is a classification task"):
            student("reviews.csv", finished_run(kind))


def test_answers_in_a_text_are_not_taught(finished_run: FinishedRun, tmp_path: Path) -> None:
    name, content = DATA["span"][:2]
    (tmp_path / name).write_text(content)
    settings = {"distil.teacher": str(finished_run("span"))}
    with pytest.raises(UserError, match="its task type learns no answers of a teacher"):
        with_teachers(load_target(str(tmp_path / name), settings), tmp_path)


def test_a_teacher_of_other_rows_is_noted(reviews: Path) -> None:
    recipe = Recipe(task="sst2", model="new:tiny", distil=Distil(teacher=str(reviews)))
    run = resolved_run(recipe)
    own = load_record(reviews / "record.json").data
    assert list(notes_on_scored_rows(run, own)) == []
    (note,) = notes_on_scored_rows(run, "others")
    assert "if rows of dev are among them, its scores are too high" in note
    held_out = HeldOut(share=0.2)
    (note,) = notes_on_scored_rows(replace(run, recipe=recipe.model_copy(update={"held_out": held_out})), own)
    assert "was trained on other rows than these" in note


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
