"""Folders of runs that have no record."""

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import InProcess

from finetune.runs.folder import RunFolder
from finetune.runs.interrupted import InterruptedRun, interrupted_runs, same_but_for_facts


def left_over(out: Path, name: str, *events: dict[str, object], checkpoints: tuple[int, ...] = ()) -> Path:
    folder = out / "reviews.csv" / name
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events) + '{"event": "upd')
    for update in checkpoints:
        (folder / "checkpoints").mkdir(exist_ok=True)
        (folder / "checkpoints" / f"{update:08}-{'0' * 64}.pt").touch()
    return folder


TRAINING = {"event": "training", "updates": 400, "done": 0, "epochs": 4, "examples": 800}


def reached(update: int, epoch: int) -> dict[str, object]:
    return {"event": "updates", "update": update, "epoch": epoch, "losses": [0.5] * 9_000, "seconds": 1.0}


def test_a_run_without_a_record_says_how_far_it_came(tmp_path: Path) -> None:
    left_over(tmp_path, "aaaaaaaaaa", TRAINING, reached(50, 1), reached(120, 2), checkpoints=(40, 110))
    left_over(tmp_path, "bbbbbbbbbb", {"event": "start"}, {"event": "updates", "update": "many"})
    finished = left_over(tmp_path, "cccccccccc", TRAINING)
    (finished / "record.json").write_text("{}")
    (tmp_path / "reviews.csv" / "something else").mkdir()
    first, second = sorted(interrupted_runs(tmp_path), key=lambda run: run.id)
    assert first == InterruptedRun(
        task="reviews.csv", id="aaaaaaaaaa", update=120, updates=400, epoch=2, epochs=4, checkpoint=110,
        last=first.last, running=False,
    )  # fmt: skip
    assert (second.id, second.update, second.checkpoint) == ("bbbbbbbbbb", 0, 0)
    assert interrupted_runs(tmp_path / "none") == []


def test_a_run_whose_process_lives_is_running(tmp_path: Path) -> None:
    folder = left_over(tmp_path, "aaaaaaaaaa", TRAINING)
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    for process, running in ((os.getpid(), True), (int(done.stdout), False)):
        (folder / ".holder").write_text(f"process {process} on {platform.node()}\n")
        assert [run.running for run in interrupted_runs(tmp_path)] == [running]


def test_they_are_listed_and_how_they_resume(
    in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_over(tmp_path / "results", "aaaaaaaaaa", TRAINING, reached(120, 2), checkpoints=(110,))
    monkeypatch.setenv("COLUMNS", "80")
    code, shown, _ = in_process("ls", data=tmp_path)
    assert code == 0
    table = shown[shown.index("interrupted runs") :]
    assert "aaaaaaaaaa" in table
    for words in ("120 of 400", "2 of 4", "110", "the same command"):
        assert words in table
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.slow
def test_ten_thousand_runs_are_looked_at_in_seconds(tmp_path: Path) -> None:
    for number in range(10_000):
        folder = tmp_path / "reviews.csv" / f"{number:010x}"
        folder.mkdir(parents=True)
        (folder / "events.jsonl").touch()
        if number % 100:
            (folder / "record.json").touch()
    started = time.perf_counter()
    assert len(interrupted_runs(tmp_path)) == 100
    assert time.perf_counter() - started < 20  # about 1


def test_what_has_changed_since_a_run_was_interrupted_is_named(tmp_path: Path) -> None:
    recipe = {"task": "reviews.csv", "train": {"updates": 400}}
    began = {"event": "start", "recipe": recipe, "data": "d", "weights": "w"}
    left = left_over(tmp_path, "aaaaaaaaaa", began, TRAINING, checkpoints=(40,))
    new = RunFolder(tmp_path / "reviews.csv" / "bbbbbbbbbb")

    def changed(**facts: str) -> list[str] | None:
        found = same_but_for_facts(new, recipe, {"data": "d", "weights": "w"} | facts)
        return found and found[1]

    assert changed(data="other") == ["data"]
    assert changed(weights="other") == ["weights"]
    assert changed(data="other", weights="other") == ["data", "weights"]
    assert changed() is None  # the id is another for the precision of this device
    assert same_but_for_facts(new, {"task": "reviews.csv"}, {"data": "other"}) is None
    (left / ".holder").write_text(f"process {os.getpid()} on {platform.node()}\n")
    assert changed(data="other") is None  # it is not interrupted, but running


def test_a_log_without_fingerprints_says_nothing_of_changes(tmp_path: Path) -> None:
    left_over(tmp_path, "aaaaaaaaaa", {"event": "start", "recipe": {}}, TRAINING, checkpoints=(40,))
    assert same_but_for_facts(RunFolder(tmp_path / "reviews.csv" / "b"), {}, {"data": "d"}) is None
