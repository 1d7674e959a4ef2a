"""Ray tasks predict a folder: what one process writes, also after a worker is killed or the command is stopped."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from support.cli import Finetune, InProcess, assert_error
from support.parquet_folders import checksums, is_complete, predict_folder, windows, write_two
from support.processes import below, is_running, ray_tasks, soon, started

from finetune.inference.predictor import Predictor

pytest.importorskip("ray")
ROWS = 12_000
TO_RAY = ("in", "-o", "out", "--on", "ray")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_two(tmp_path / "in", ROWS)


@pytest.fixture
def whole(reviewer: Predictor, folder: Path, tmp_path: Path) -> dict[str, str]:
    """The checksums of what this process writes."""
    predict_folder(reviewer, folder, tmp_path / "whole")
    return checksums(tmp_path / "whole")


def predicting(folder: Path, reviews: Path, *more: str) -> "subprocess.Popen[str]":
    """The command in the background, with as many threads as this process."""
    threads = torch.get_num_threads()
    return started(
        folder, folder, "predict", str(reviews), *TO_RAY, "--cpus-each", str(threads), *more, threads=threads
    )


def stopped_in_a_shard(worker: int, state: Path) -> Path:
    """The journal of the shard that a worker predicts, which is stopped after a window of its rows."""
    while True:
        os.kill(worker, signal.SIGSTOP)
        if journals := [file for file in state.rglob("*.part.jsonl") if b"\n[" in file.read_bytes()]:
            return journals[0]
        os.kill(worker, signal.SIGCONT)
        time.sleep(0.01)


def sizes_until_it_is_gone(file: Path, seconds: float = 120.0) -> list[int]:
    """The sizes of a file, every few milliseconds, until it is deleted."""
    sizes, until = [file.stat().st_size], time.monotonic() + seconds
    with suppress(FileNotFoundError):
        while time.monotonic() < until:
            sizes.append(file.stat().st_size)
            time.sleep(0.002)
    return sizes


@pytest.mark.nightly
def test_a_killed_worker_is_replaced_and_a_file_that_cannot_be_read_stops_no_other(
    folder: Path, whole: dict[str, str], reviews: Path, tmp_path: Path
) -> None:
    """With one worker, so that no other could have ended its work."""
    (folder / "c.parquet").write_bytes(b"PAR1 is not all of it")
    running = predicting(tmp_path, reviews, "--workers", "1")
    assert soon(lambda: windows(tmp_path / "out" / ".predict") > 0)
    (worker,) = ray_tasks(running.pid, "_predict")
    journal = stopped_in_a_shard(worker, tmp_path / "out" / ".predict")
    before = journal.read_bytes().rfind(b"\n[")
    os.kill(worker, signal.SIGKILL)
    sizes = sizes_until_it_is_gone(journal)
    out, err = running.communicate(timeout=200)
    assert 0 < before < min(sizes), "the shard has begun again"
    assert running.returncode == 2, err
    assert_error(err.splitlines()[-1], "1 of 3 files is not predicted, c.parquet first")
    assert "24,000 rows in 2 files" in out
    assert "predicted rows" in err and "Traceback" not in err
    assert checksums(tmp_path / "out") == whole


@pytest.mark.nightly
def test_ctrl_c_stops_and_the_same_command_resumes(
    folder: Path, whole: dict[str, str], reviews: Path, tmp_path: Path, finetune: Finetune
) -> None:
    running = predicting(tmp_path, reviews, "--quiet")
    assert soon(lambda: windows(tmp_path / "out" / ".predict") > 0)
    started_by_it = below(running.pid)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "stopped by Ctrl-C" in err and "the same command" in err and len(err.splitlines()) == 1
    assert soon(lambda: not any(map(is_running, started_by_it)))
    assert not is_complete(tmp_path / "out")
    assert windows(tmp_path / "out" / ".predict") > 0
    done = finetune("predict", str(reviews), "in", "-o", "out", "--quiet")
    assert done.returncode == 0, done.stderr
    assert (checksums(tmp_path / "out"), is_complete(tmp_path / "out")) == (whole, True)


@pytest.mark.nightly
def test_gpus_that_are_not_there_are_a_line_before_the_model_is_loaded(
    folder: Path, reviews: Path, tmp_path: Path
) -> None:
    gpus = torch.cuda.device_count()
    running = predicting(tmp_path, reviews, "--gpus-each", str(gpus + 1), "--quiet")
    _, err = running.communicate(timeout=120)
    assert running.returncode == 2
    assert_error(err, f"`--gpus-each` is {gpus + 1}, and this machine has {gpus} GPUs")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["in", "-o", "out", "--on", "slurm"], ["`--on` is 'slurm'", "without `--on`"]),
        (["in", "-o", "out", "--on", "rai"], ["'rai'", "Did you mean 'ray'"]),
        (["in", "-o", "out", "--cpus-each", "2"], ["`--cpus-each`", "`--on` ray"]),
        (["in", "-o", "out", "--on", "ray", "--workers", "0"], ["--workers"]),
        (["in", "-o", "out", "--on", "ray", "--gpus-each", "1.5"], ["`--gpus-each` is 1.5"]),
        (["one.csv", "--on", "ray"], ["`--on` is for several Parquet files"]),
        (["-", "--on", "ray"], ["`--on` is for several Parquet files"]),
    ],
    ids=" ".join,
)
def test_wrong_input_is_one_line(
    arguments: list[str], words: list[str], in_process: InProcess, folder: Path, reviews: Path
) -> None:
    code, _, err = in_process("predict", str(reviews), *arguments, "--quiet", data=folder)
    assert code == 2
    assert_error(err, *words)
    assert not (folder.parent / "out").exists()


def test_without_ray_the_extra_is_named(
    in_process: InProcess, folder: Path, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = in_process("predict", str(reviews), *TO_RAY, "--quiet", data=folder)
    assert code == 2
    assert_error(err, "Ray is not installed", "pip install 'bert-finetune[ray]'")
    assert not (folder.parent / "out").exists()
