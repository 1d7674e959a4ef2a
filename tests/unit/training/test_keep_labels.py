"""A run is trained again with its head: rows of the same label are carried, others begin as in a new head."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from support.cli import Finetune, InProcess, assert_error
from support.runs import DATA, REVIEWS, FinishedRun, as_csv, as_json_lines, trained_run

from finetune.errors import UserError
from finetune.models.model_folder import load_trained
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.task_types.run_task import trained_on

NEW = [(f"the {'hat' if i % 3 else 'cat'} ran {i}", "fine" if i % 3 else "good") for i in range(30)]
KEPT: dict[str, Any] = {"keep_labels": True, "train.epochs": 1, "train.patience": None}
STILL = KEPT | {"train.learning_rate": 1e-12, "frozen": True}  # nothing is learned


def again(tmp_path: Path, old: Path, content: str, *, name: str = "new.csv", **settings: Any) -> RunRecord:
    (tmp_path / name).write_text(content, encoding="utf-8")
    folder = trained_run(tmp_path / "results", tmp_path / name, old, **(KEPT | settings))
    record = RunFolder(folder).record()
    assert record is not None
    return record


def head_rows(folder: Path) -> dict[str, torch.Tensor]:
    head = load_trained(folder / "model", trained_on(RunFolder(folder)).head).head
    return dict(zip(head.labels, head.output.weight.detach(), strict=True))


def test_rows_of_the_head_are_carried_by_name(tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run("sentence")
    record = again(tmp_path, old, as_csv(("review", "mark"), *NEW), **STILL)
    before, now = head_rows(old), head_rows(tmp_path / "results" / record.task / record.id)
    assert list(now) == ["bad", "good", "fine"]
    for name in ("bad", "good"):
        assert torch.allclose(now[name], before[name], atol=1e-6)
    assert any("has the rows of 'bad', 'good' from run" in note and "new are 'fine'" in note for note in record.notes)


def test_an_unchanged_model_scores_as_the_old_one_on_its_dev(tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run("sentence")
    before, drawn = RunFolder(old).record(), {*json.loads((old / "split.json").read_text())["dev"]}
    (tmp_path / "dev.csv").write_text(
        as_csv(("review", "mark"), *(row for number, row in enumerate(REVIEWS, start=1) if str(number) in drawn))
    )
    record = again(tmp_path, old, as_csv(("review", "mark"), *NEW), dev=str(tmp_path / "dev.csv"), **STILL)
    assert before is not None
    assert record.rows["dev"] == before.rows["dev"]
    assert record.scores["dev"]["accuracy"] == before.scores["dev"]["accuracy"]


def test_dev_rows_that_the_old_model_was_trained_on_are_found(tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run("sentence")
    dev = {*json.loads((old / "split.json").read_text())["dev"]}
    seen = [row for number, row in enumerate(REVIEWS, start=1) if str(number) not in dev]
    (tmp_path / "dev.csv").write_text(as_csv(("review", "mark"), *seen[:3], *NEW[:4]))
    record = again(tmp_path, old, as_csv(("review", "mark"), *NEW), dev=str(tmp_path / "dev.csv"))
    assert any("3 of the 7 rows of dev have texts that run" in finding.what for finding in record.findings)
    assert any("3 of the 7 rows of dev have texts that run" in leak for leak in record.leaks("dev"))


def test_old_and_new_files_are_read_together(here: Finetune, tmp_path: Path, finished_run: FinishedRun) -> None:
    for name, rows in {"old": REVIEWS, "new": NEW, "dev": NEW[:4]}.items():
        (tmp_path / f"{name}.csv").write_text(as_csv(("review", "mark"), *rows))
    told = [f"model={finished_run('sentence')}", "keep_labels=true", "train.epochs=1", "dev=dev.csv"]
    done = here("run", "old.csv,new.csv", *told)
    assert done.returncode == 0, done.stderr
    (folder,) = (file.parent for file in tmp_path.glob("results/*/*/record.json"))
    assert load_record(folder / "record.json").rows["train"] == len(REVIEWS) + len(NEW)
    assert list(head_rows(folder)) == ["bad", "good", "fine"]


def test_labels_that_vanished_are_kept_unless_shared(tmp_path: Path, finished_run: FinishedRun) -> None:
    old, content = finished_run("sentence"), as_csv(("review", "mark"), *NEW)
    rows = {}
    for keep in (True, "shared"):
        record = again(tmp_path, old, content, keep_labels=keep)
        rows[keep] = list(head_rows(tmp_path / "results" / record.task / record.id))
    assert rows == {True: ["bad", "good", "fine"], "shared": ["good", "fine"]}
    assert any("'bad' left out" in note for note in record.notes)


OTHERS = {  # new rows for the run of each other type
    "regression": DATA["regression"][1],
    "multilabel": as_json_lines(*({"text": f"a cat {i}", "labels": ["b", "c"][: i % 3]} for i in range(30))),
    "tagging": "a O\ncat B-PET\nran O\n\na O\nmat B-ITEM\n\n" * 10,
    "span": DATA["span"][1],
    "choice": DATA["choice"][1],
}


def test_labels_in_an_order_may_lose_it(tmp_path: Path, finished_run: FinishedRun) -> None:
    """The order of the new rows' labels is not that of all."""
    rows = [(text, {"fine": "fair"}.get(mark, mark)) for text, mark in NEW]
    record = again(tmp_path, finished_run("sentence"), as_csv(("review", "mark"), *rows))
    assert any("new are 'fair'" in note for note in record.notes)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", OTHERS)
def test_each_type_is_trained_again(kind: str, tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run(kind)
    name = "new" + Path(DATA[kind][0]).suffix
    record = again(tmp_path, old, OTHERS[kind], name=name, **{"max_length": 32})
    added = {"multilabel": "new are 'c'", "tagging": "new are 'ITEM'"}
    assert any(added.get(kind, "the head is that of run") in note for note in record.notes)
    if kind in added:
        assert head_rows(tmp_path / "results" / record.task / record.id)


@pytest.mark.nightly
def test_a_model_is_trained_again_twice(tmp_path: Path, finished_run: FinishedRun) -> None:
    shutil.copytree(finished_run("sentence").parents[1], tmp_path / "results")
    old = next((tmp_path / "results").glob("*/*/record.json")).parent
    second = again(tmp_path, old, as_csv(("review", "mark"), *NEW))
    third = again(
        tmp_path, tmp_path / "results" / second.task / second.id, as_csv(("review", "mark"), *NEW[:9], *REVIEWS[:9]),
        name="third.csv",
    )  # fmt: skip
    assert list(head_rows(tmp_path / "results" / third.task / third.id)) == ["bad", "good", "fine"]


FAULTS: dict[str, tuple[str, str, dict[str, Any], list[str]]] = {
    "other type": ("regression", as_csv(("review", "mark"), *NEW), {}, ["regression", "classification", "shape="]),
    "no label": (
        "sentence",
        as_csv(("review", "mark"), *((t, {"good": "yes"}.get(m, m)) for t, m in NEW)),
        {},
        ["no label in common", "'yes'", "'good'", "old.csv,new.csv"],
    ),
    "spelling": ("sentence", as_csv(("review", "mark"), *((t, m.title()) for t, m in NEW)), {}, ["'Good'", "'good'"]),
    "other reading": ("sentence", as_csv(("review", "mark"), *NEW), {"pooling": "cls"}, ["keep_labels", "pooling"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_fit_stops(fault: str, tmp_path: Path, finished_run: FinishedRun) -> None:
    kind, content, settings, words = FAULTS[fault]
    with pytest.raises(UserError) as raised:
        again(tmp_path, finished_run(kind), content, **settings)
    assert [word for word in words if word not in str(raised.value)] == []


def test_an_encoder_and_changed_rows_stop(tmp_path: Path, copied_run: FinishedRun, tiny_bert: Path) -> None:
    content = as_csv(("review", "mark"), *NEW)
    with pytest.raises(UserError, match="not a finished run"):
        again(tmp_path, tiny_bert, content)


def test_settings_that_contradict_are_an_error(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(as_csv(("review", "mark"), *NEW))
    code, _, err = in_process("run", "new.csv", "keep_labels=true", "rehearse=0.5", data="")
    assert code == 2
    assert_error(err, "'rehearse' was taken out", "old.csv,new.csv")
    code, _, err = in_process("run", "new.csv", "keep_labels=true", "frozen=true", "train.solver=logistic", data="")
    assert code == 2
    assert_error(err, "keep_labels", "logistic")


def test_a_teacher_must_know_the_labels_that_are_kept(tmp_path: Path, finished_run: FinishedRun) -> None:
    (tmp_path / "new.csv").write_text(as_csv(("review", "mark"), *NEW))
    old, results = finished_run("sentence"), tmp_path / "results"
    teacher = trained_run(results, tmp_path / "new.csv", old, **{"train.epochs": 1})
    taught = {"distil.teacher": str(teacher), "distil.weak": True}
    with pytest.raises(UserError, match="lacks the label bad, which keep_labels keeps"):
        trained_run(results, tmp_path / "new.csv", old, **(KEPT | taught))
