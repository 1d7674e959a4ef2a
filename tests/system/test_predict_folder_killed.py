"""Several processes predict a folder; they are killed, and the same command writes what an undisturbed one does."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.cli import Finetune
from support.parquet_folders import checksums, is_complete, predict_folder, windows, write_two
from support.processes import is_running, soon

from finetune.errors import UserError
from finetune.inference.model_source import ModelSource
from finetune.inference.predictor import Predictor
from finetune.inference.shards import begin, workers
from finetune.inference.shards.plan import Plan
from finetune.inference.shards.workers import Processes

pytestmark = pytest.mark.nightly


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_two(tmp_path / "in", 6_000)


@pytest.fixture
def whole(reviewer: Predictor, folder: Path, tmp_path: Path) -> dict[str, str]:
    predict_folder(reviewer, folder, tmp_path / "whole")
    return checksums(tmp_path / "whole")


def test_workers_end_with_the_command_and_any_number_resumes(
    folder: Path, whole: dict[str, str], reviews: Path, tmp_path: Path, finetune: Finetune
) -> None:
    arguments = ["predict", str(reviews), "in", "-o", "out", "--quiet"]
    command = [sys.executable, "-m", "finetune", *arguments, "--workers", "2"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    assert soon(lambda: windows(tmp_path / "out" / ".predict") > 2)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    running.kill()
    assert running.wait() == -9
    assert len(children) == 2
    assert soon(lambda: not any(is_running(int(child)) for child in children))
    assert not is_complete(tmp_path / "out")
    done = finetune(*arguments)
    assert done.returncode == 0, done.stderr
    assert (checksums(tmp_path / "out"), is_complete(tmp_path / "out")) == (whole, True)


def test_a_worker_that_is_killed_is_replaced_by_the_others(
    reviewer: Predictor, reviews: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begin, "SHARD_ROWS", 500)
    predict_folder(reviewer, folder, tmp_path / "whole")
    started: list[int] = []
    start = Processes._started

    def noted(self: Processes, plan: Plan, number: int) -> "subprocess.Popen[bytes]":
        process = start(self, plan, number)
        started.append(process.pid)
        return process

    def kill_one() -> None:
        soon(lambda: windows(tmp_path / "out" / ".predict") > 2)
        os.kill(started[0], signal.SIGKILL)

    monkeypatch.setattr(Processes, "_started", noted)
    killer = threading.Thread(target=kill_one)
    killer.start()
    found = predict_folder(reviewer, folder, tmp_path / "out", executor=Processes(ModelSource(model=str(reviews)), 2))
    killer.join()
    assert (found.rows, found.errors) == (12_000, {})
    assert checksums(tmp_path / "out") == checksums(tmp_path / "whole")


def test_why_workers_ended(
    reviewer: Predictor, reviews: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="'none' is not a run"):
        predict_folder(reviewer, folder, tmp_path / "out", executor=Processes(ModelSource(model="none"), 1))
    monkeypatch.setattr(workers, "START", [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
    with pytest.raises(UserError, match=r"killed \(exit codes -9, -9"):
        predict_folder(reviewer, folder, tmp_path / "out", executor=Processes(ModelSource(model=str(reviews)), 2))
