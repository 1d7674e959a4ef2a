"""A run is trained again with its head: labels by name, old rows, and the old model next to the new on the old dev."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from support.cli import InProcess, assert_error
from support.runs import DATA, REVIEWS, FinishedRun, as_csv, as_json_lines, trained_run

from finetune.analysis.recorded_models import old_and_new
from finetune.commands.report.content import read_run_files
from finetune.commands.report.run import other_models
from finetune.errors import UserError
from finetune.inference.thresholds import claims_of
from finetune.models.model_folder import load_trained
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.task_types.run_task import trained_on
from finetune.training.distil.answers import Teacher
from finetune.training.distil.lessons import require_labels

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
    assert record.kept is not None
    assert (record.kept.carried, record.kept.added) == (["bad", "good"], ["fine"])
    before, now = head_rows(old), head_rows(tmp_path / "results" / record.task / record.id)
    assert list(now) == ["bad", "good", "fine"]
    for name in ("bad", "good"):
        assert torch.allclose(now[name], before[name], atol=1e-6)
    assert any("new are 'fine'" in note for note in record.notes)


def test_an_unchanged_model_scores_as_the_old_one_on_the_old_dev(tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run("sentence")
    before = RunFolder(old).record()
    record = again(tmp_path, old, as_csv(("review", "mark"), *NEW), **STILL)
    assert before is not None
    assert record.rows["old-dev"] == before.rows["dev"]
    assert record.baselines["old-dev"]["old model"]["accuracy"] == before.scores["dev"]["accuracy"]
    found = old_and_new(record)
    assert found is not None
    assert found.sentence.startswith(f"On {before.rows['dev']} dev rows of run {before.id}, accuracy:")
    assert [cells[0] for cells in found.cells] == ["bad", "good"]
    run = read_run_files(RunFolder(tmp_path / "results" / record.task / record.id))
    assert [block.title for block in other_models(run)] == ["Old model and new"]


def test_old_rows_are_rehearsed_by_seed_and_told(tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run("sentence")
    content = as_csv(("review", "mark"), *NEW)
    plain, half, other = (
        again(tmp_path, old, content, **given) for given in ({}, {"rehearse": 0.5}, {"rehearse": 0.5, "data_seed": 7})
    )
    assert len({plain.id, half.id, other.id}) == 3
    assert half.kept is not None
    assert half.kept.rehearsed == half.rows["train"] - plain.rows["train"] == round(0.5 * 72)
    assert half.kept.of == 72
    assert any("36 rows of the 72 training rows" in note for note in half.notes)
    assert half.data == plain.data  # the new rows, so that both can be compared


def test_dev_rows_that_the_old_model_was_trained_on_are_found(tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run("sentence")
    dev = {*json.loads((old / "split.json").read_text())["dev"]}
    seen = [row for number, row in enumerate(REVIEWS, start=1) if str(number) not in dev]
    (tmp_path / "dev.csv").write_text(as_csv(("review", "mark"), *seen[:3], *NEW[:4]))
    record = again(tmp_path, old, as_csv(("review", "mark"), *NEW), dev=str(tmp_path / "dev.csv"), rehearse=1.0)
    assert record.kept is not None
    assert record.kept.known == 3
    assert record.kept.rehearsed == 72 - 3
    assert any("3 of the 7 rows of dev have texts that run" in finding.what for finding in record.findings)
    claims = claims_of(RunFolder(tmp_path / "results" / record.task / record.id))
    assert claims is not None and claims.known.startswith("3 rows that it is scored on were training rows of run")


def test_old_dev_rows_that_are_trained_on_now_are_left_out(tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run("sentence")
    dev = json.loads((old / "split.json").read_text())["dev"]
    rows = [*NEW, *(REVIEWS[int(name) - 1] for name in dev[:2])]
    (tmp_path / "dev.csv").write_text(as_csv(("review", "mark"), *NEW[:4]))
    record = again(tmp_path, old, as_csv(("review", "mark"), *rows), dev=str(tmp_path / "dev.csv"))
    assert record.rows["old-dev"] == len(dev) - 2
    assert any("are training rows now" in note for note in record.notes)


def test_labels_that_vanished_are_kept_unless_shared(tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run("sentence")
    content = as_csv(("review", "mark"), *NEW)
    kept, shared = again(tmp_path, old, content), again(tmp_path, old, content, keep_labels="shared", rehearse=1.0)
    assert kept.kept is not None
    assert shared.kept is not None
    assert kept.kept.left_out == []
    assert shared.kept.left_out == ["bad"]
    assert shared.kept.rehearsed < 72  # no row of a label that is left out
    assert any("have a label that is left out" in note for note in shared.notes)


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
    assert record.kept is not None
    assert record.kept.added == ["fair"]


@pytest.mark.nightly
@pytest.mark.parametrize("kind", OTHERS)
def test_each_type_is_trained_again(kind: str, tmp_path: Path, finished_run: FinishedRun) -> None:
    old = finished_run(kind)
    name = "new" + Path(DATA[kind][0]).suffix
    record = again(tmp_path, old, OTHERS[kind], name=name, rehearse=0.5, **{"max_length": 32})
    assert record.kept is not None
    assert record.kept.rehearsed > 0
    assert "old model" in record.baselines["old-dev"] or any("old-dev has no rows left" in n for n in record.notes)
    added = {"multilabel": ["c"], "tagging": ["ITEM"]}
    assert record.kept.added == added.get(kind, [])
    if kind in added:
        assert head_rows(tmp_path / "results" / record.task / record.id)


@pytest.mark.nightly
def test_a_model_is_trained_again_twice(tmp_path: Path, finished_run: FinishedRun) -> None:
    shutil.copytree(finished_run("sentence").parents[1], tmp_path / "results")
    old = next((tmp_path / "results").glob("*/*/record.json")).parent
    second = again(tmp_path, old, as_csv(("review", "mark"), *NEW), rehearse=0.5)
    third = again(
        tmp_path, tmp_path / "results" / second.task / second.id, as_csv(("review", "mark"), *NEW[:9], *REVIEWS[:9]),
        name="third.csv", rehearse=1.0,
    )  # fmt: skip
    assert third.kept is not None
    assert third.kept.of == second.rows["train"]


FAULTS: dict[str, tuple[str, str, dict[str, Any], list[str]]] = {
    "other type": ("regression", as_csv(("review", "mark"), *NEW), {}, ["regression", "classification", "shape="]),
    "no label": (
        "sentence",
        as_csv(("review", "mark"), *((t, {"good": "yes"}.get(m, m)) for t, m in NEW)),
        {},
        ["no label in common", "'yes'", "'good'", "rehearse=0.5"],
    ),
    "spelling": ("sentence", as_csv(("review", "mark"), *((t, m.title()) for t, m in NEW)), {}, ["'Good'", "'good'"]),
    "pairs": (
        "sentence",
        as_csv(("a", "b", "mark"), *((t, "a cat ran", m) for t, m in NEW)),
        {"text": "a,b"},
        ["single texts", "pairs"],
    ),
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


def test_rehearsal_needs_the_old_rows(
    tmp_path: Path, finished_run: FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    from finetune.training import keep_labels

    monkeypatch.setattr(keep_labels, "data_fingerprint", lambda _: "other rows")
    content = as_csv(("review", "mark"), *NEW)
    with pytest.raises(UserError, match=r"rehearse=0.5: .* has changed since"):
        again(tmp_path, finished_run("sentence"), content, rehearse=0.5)
    record = again(tmp_path, finished_run("sentence"), content)
    assert any("dev may have training rows of run" in note for note in record.notes)


def test_settings_that_contradict_are_an_error(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(as_csv(("review", "mark"), *NEW))
    code, _, err = in_process("run", "new.csv", "rehearse=0.5", data="")
    assert code == 2
    assert_error(err, "keep_labels=true")
    code, _, err = in_process("run", "new.csv", "keep_labels=true", "frozen=true", "train.solver=logistic", data="")
    assert code == 2
    assert_error(err, "keep_labels", "logistic")
    soft = ("keep_labels=true", "rehearse=0.5", "distil.soft=true")
    code, _, err = in_process("run", "new.csv", *soft, data="")
    assert code == 2
    assert_error(err, "the old rows have no soft labels")


def test_a_teacher_must_know_the_labels_that_are_kept(tmp_path: Path, finished_run: FinishedRun) -> None:
    (tmp_path / "new.csv").write_text(as_csv(("review", "mark"), *NEW))
    folder = trained_run(tmp_path / "results", tmp_path / "new.csv", finished_run("sentence"), **{"train.epochs": 1})
    teacher = Teacher(folder)
    with pytest.raises(UserError, match="lacks the label bad, which keep_labels keeps"):
        require_labels(teacher, trained_on(RunFolder(finished_run("sentence"))))
