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

from finetune.runs.lookup import InterruptedRun, interrupted_runs


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
