"""Runs that go on from another: taught by a teacher, or trained again with the head and its rows by label."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from support.cli import InProcess, assert_error
from support.records import change_record
from support.runs import DATA, FAST, REVIEWS, FinishedRun, as_csv, trained_run

from finetune.errors import UserError
from finetune.models.model_folder import load_trained
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.task_types.run_task import trained_on
from finetune.training.first_runs import with_teachers
from finetune.training.targets import load_target
from finetune.training.teacher import mean_of_teachers, soft_loss

T = 2.5
COLUMNS = ("review", "mark")


def test_a_teachers_loss_is_that_of_its_formula_and_of_several_the_mean_of_their_probabilities() -> None:
    generator = np.random.default_rng(0)
    logits, theirs = (3 * generator.standard_normal((4, 3)) for _ in range(2))
    wanted = softmax(theirs / T, -1)
    expected = T**2 * np.sum(wanted * (np.log(wanted) - log_softmax(logits / T, -1)))
    assert float(soft_loss(torch.tensor(logits), torch.tensor(wanted), T)) == pytest.approx(expected, rel=1e-5)
    assert float(soft_loss(torch.tensor(theirs), torch.tensor(wanted), T)) == pytest.approx(0, abs=1e-5)
    one, other = np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])
    assert np.exp(mean_of_teachers([one, other]))[0] == pytest.approx([0.7, 0.3])


@pytest.fixture
def run(tiny_bert: Path, reviews: Path, tmp_path: Path, in_process: InProcess) -> Any:
    """`finetune run reviews.csv` with these settings: (exit code, error)."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "reviews.csv").write_text(as_csv(COLUMNS, *REVIEWS))
    (tmp_path / "other.csv").write_text(as_csv(("opinion", "page"), ("good film", "1"), ("bad film", "2")))
    usual = [f"{key}={value}" for key, value in (FAST | {"train.epochs": 2, "model": tiny_bert}).items()]

    def typed(*settings: str) -> tuple[int, str]:
        given = [setting.replace("RUN", str(reviews)) for setting in settings]
        code, _, err = in_process("run", "reviews.csv", *usual, *given, data="")
        return code, err

    return typed


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["distil.teacher=folder"], "is not a finished run"),
        (["distil.weight=0.3"], "without a teacher"),
        (["distil.teacher=RUN", "distil.weak=true", "distil.text=a.csv"], "there is no such file"),
        (["distil.teacher=RUN", "distil.weak=true", "distil.text=other.csv"], "as in training: review"),
        (["distil.teacher=RUN", "distil.weak=true", "keep_layers=[7]"], "this encoder has the layers 0 to 1"),
        (["keep_labels=true"], "not a finished run"),
    ],
)
def test_what_cannot_be_taught_is_said_in_a_line(settings: list[str], message: str, run: Any) -> None:
    code, err = run(*settings)
    assert code == 2
    assert_error(err, message)


def test_a_teacher_of_another_kind_or_no_better_than_its_baselines_is_refused(
    finished_run: FinishedRun, copied_run: FinishedRun, tmp_path: Path
) -> None:
    (tmp_path / "stars.csv").write_text(as_csv(COLUMNS, *((t, m.upper()) for t, m in REVIEWS)))
    (tmp_path / "reviews.csv").write_text(as_csv(COLUMNS, *REVIEWS))
    reviewer = copied_run("sentence")
    baselines = load_record(reviewer / "record.json").baselines
    baselines["dev"]["majority"]["macro f1"] = 1.0
    change_record(reviewer / "record.json", baselines=baselines)

    def student(file: str, teacher: Path, **more: Any) -> None:
        settings = {"distil.teacher": str(teacher), **more}
        with_teachers(load_target(str(tmp_path / file), settings), tmp_path)

    named = {"text": "review", "label": "mark"}
    student("reviews.csv", reviewer, **named, **{"distil.weak": True})
    for file, teacher, said in (
        ("stars.csv", finished_run("sentence"), "it has the labels bad, good, and stars"),
        ("reviews.csv", finished_run("regression"), r"it is a regression model, and .* is a classification task"),
        ("reviews.csv", reviewer, "the best of its own baselines has 100"),
    ):
        with pytest.raises(UserError, match=said):
            student(file, teacher, **named)
    for kind in ("span", "tagging", "regression"):
        (tmp_path / DATA[kind][0]).write_text(DATA[kind][1])
        with pytest.raises(UserError, match="a teacher's classes are learned, and it has none"):
            student(DATA[kind][0], finished_run(kind))


NEW = [(f"the {'hat' if i % 3 else 'cat'} ran {i}", "fine" if i % 3 else "good") for i in range(30)]
KEPT: dict[str, Any] = {"keep_labels": True, "train.epochs": 1, "train.patience": None}
STILL = {"train.learning_rate": 1e-12, "frozen": True}  # nothing is learned


def again(tmp_path: Path, old: Path, content: str, **settings: Any) -> tuple[RunRecord, dict[str, torch.Tensor]]:
    """The record of a run that goes on from another on new rows, and the rows of its head."""
    (tmp_path / "new.csv").write_text(content, encoding="utf-8")
    folder = trained_run(tmp_path / "results", tmp_path / "new.csv", old, **(KEPT | settings))
    return load_record(folder / "record.json"), head_rows(folder)


def head_rows(folder: Path) -> dict[str, torch.Tensor]:
    head = load_trained(folder / "model", trained_on(RunFolder(folder)).head).head
    return dict(zip(head.labels, head.output.weight.detach(), strict=True))


def test_an_unchanged_model_has_the_rows_of_its_head_by_name_and_its_scores(
    tmp_path: Path, finished_run: FinishedRun
) -> None:
    old = finished_run("sentence")
    before, drawn = load_record(old / "record.json"), {*json.loads((old / "split.json").read_text())["dev"]}
    held = [row for number, row in enumerate(REVIEWS, start=1) if str(number) in drawn]
    seen = [row for number, row in enumerate(REVIEWS, start=1) if str(number) not in drawn]
    (tmp_path / "dev.csv").write_text(as_csv(COLUMNS, *held))
    record, now = again(tmp_path, old, as_csv(COLUMNS, *NEW), dev=str(tmp_path / "dev.csv"), **STILL)
    assert list(now) == ["bad", "good", "fine"]
    assert all(torch.allclose(now[name], row, atol=1e-6) for name, row in head_rows(old).items())
    assert any("has the rows of 'bad', 'good' from run" in note and "new are 'fine'" in note for note in record.notes)
    assert record.rows["dev"] == before.rows["dev"]
    assert record.scores["dev"]["accuracy"] == before.scores["dev"]["accuracy"]
    (tmp_path / "dev.csv").write_text(as_csv(COLUMNS, *[row for row in seen if row[1] == "good"][:3], *NEW[:4]))
    record, now = again(tmp_path, old, as_csv(COLUMNS, *NEW), dev=str(tmp_path / "dev.csv"), keep_labels="shared")
    assert any("3 of the 7 rows of dev have texts that run" in leak for leak in record.leaks("dev"))
    assert list(now) == ["good", "fine"]
    assert any("'bad' left out" in note for note in record.notes)


@pytest.mark.parametrize(
    ("kind", "labels", "settings", "words"),
    [
        ("regression", {}, {}, ["regression", "classification", "shape="]),
        ("sentence", {"good": "yes"}, {}, ["no label in common", "'yes'", "'good'", "old.csv,new.csv"]),
        ("sentence", {"good": "Good", "fine": "Fine"}, {}, ["'Good'", "'good'"]),
    ],
)
def test_rows_that_do_not_fit_the_old_head_are_refused(
    kind: str, labels: dict[str, str], settings: Any, words: list[str], tmp_path: Path, finished_run: FinishedRun
) -> None:
    rows = [(text, labels.get(label, label)) for text, label in NEW]
    with pytest.raises(UserError) as raised:
        again(tmp_path, finished_run(kind), as_csv(COLUMNS, *rows), **settings)
    assert [word for word in words if word not in str(raised.value)] == []
