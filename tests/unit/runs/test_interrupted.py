"""Runs without a record, the log that tells how far they came, and the signals that end one."""

import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import InProcess, installed

from finetune.runs import process
from finetune.runs.events import EventLog, Note, logged_events, unwatched
from finetune.runs.lookup import InterruptedRun, interrupted_runs


def test_the_log_drops_a_line_that_a_killed_process_began(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    EventLog(file, then=unwatched)(Note("one"))
    with file.open("a") as opened:
        opened.write('{"time": 1.0, "event": "upda')
    EventLog(file, then=unwatched)(Note("two"))
    assert [json.loads(line)["text"] for line in file.read_text().splitlines()] == ["one", "two"]


def test_a_line_that_is_no_event_is_none_however_deep_it_is() -> None:
    assert [*logged_events(['{"event": "end", "time": 1}'])] == [{"event": "end", "time": 1}]
    for line in ('{"event": "e', "[]", "{}", "1", "", "[" * 100_000, '{"event":' * 100_000, b"\xff"):
        assert [*logged_events([line])] == []


def left_over(out: Path, name: str, *events: dict[str, object], checkpoints: tuple[int, ...] = ()) -> Path:
    folder = out / "reviews.csv" / name
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events) + '{"event": "upd')
    for update in checkpoints:
        (folder / "checkpoints" / f"{update:08}-{'0' * 64}.pt").touch()
    return folder


TRAINING = {"event": "training", "updates": 400, "done": 0, "epochs": 4, "examples": 800}
REACHED = [{"event": "updates", "update": n, "epoch": e, "losses": [0.5] * 9_000} for n, e in ((50, 1), (120, 2))]


def test_a_run_without_a_record_says_how_far_it_came(in_process: InProcess, tmp_path: Path) -> None:
    out = tmp_path / "results"
    begun = left_over(out, "aaaaaaaaaa", TRAINING, *REACHED, checkpoints=(40, 110))
    left_over(out, "bbbbbbbbbb", {"event": "start"}, {"event": "updates", "update": "many"})
    (left_over(out, "cccccccccc", TRAINING) / "record.json").write_text("{}")
    (out / "reviews.csv" / "something else").mkdir()
    first, second = sorted(interrupted_runs(out), key=lambda run: run.id)
    assert first == InterruptedRun(
        task="reviews.csv", id="aaaaaaaaaa", update=120, updates=400, epoch=2, epochs=4, checkpoint=110,
        last=first.last, running=False,
    )  # fmt: skip
    assert (second.id, second.update, second.checkpoint) == ("bbbbbbbbbb", 0, 0)
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    for pid, running in ((os.getpid(), True), (int(done.stdout), False)):
        (begun / ".holder").write_text(f"process {pid} on {platform.node()}\n")
        assert [run.running for run in interrupted_runs(out) if run.id == "aaaaaaaaaa"] == [running]
    code, shown, _ = in_process("ls", data=tmp_path)
    assert code == 0
    assert [
        word for word in ("aaaaaaaaaa", "120 of 400", "2 of 4", "110", "the same command") if word not in shown
    ] == []
    assert interrupted_runs(tmp_path / "none") == []


class Signalled:
    """Sends this process a signal when it is collected, where Python ignores exceptions."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)


def test_no_signal_is_lost_during_imports_in_a_finalizer_or_by_other_code(capsys: pytest.CaptureFixture[str]) -> None:
    done = False
    with pytest.raises(process.Interrupted) as held_back, installed(), process.held():
        os.kill(os.getpid(), signal.SIGTERM)  # C code would make an ImportError of it
        done = True
    assert (done, held_back.value.exit_code, process.stopped_by()) == (True, 143, None)
    with pytest.raises(process.Interrupted) as stopped, installed():
        Signalled()
        time.sleep(10)
    assert (stopped.value.exit_code, capsys.readouterr().err) == (143, "")
    with installed():
        with pytest.raises(ImportError):
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except process.Interrupted as error:
                raise ImportError("initialization failed") from error
        assert process.stopped_by().exit_code == 130
        process.ignore()
        os.kill(os.getpid(), signal.SIGTERM)  # of a command that only exits
