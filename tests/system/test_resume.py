"""Runs that were killed or failed are resumed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import Finetune, InProcess, assert_error


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(rte: Path, tiny_bert: Path, tmp_path: Path, finetune: Finetune) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=250", "train.batch_size=8"]
    command = [sys.executable, "-m", "finetune", "run", *settings]
    environment = os.environ | {"FINETUNE_DATA": str(rte)}
    running = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not list(tmp_path.glob("results/rte/*/checkpoint.pt")) and time.monotonic() < until:
        time.sleep(0.05)
    other = finetune("run", *settings, data=rte)
    running.kill()
    running.wait()
    assert other.returncode == 2
    assert "another process" in other.stderr
    (folder,) = tmp_path.glob("results/rte/*")
    assert not (folder / "record.json").exists()
    resumed = finetune("run", *settings, data=rte)
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming after update" in resumed.stderr
    assert len(json.loads((folder / "record.json").read_text())["epochs"]) == 250
    assert not (folder / "checkpoint.pt").exists()


def test_a_forced_run_that_stops_is_not_done(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=1"]
    assert in_process("run", *settings, data=rte)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(
            "finetune.training.run.save_checkpoint", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full"))
        )
        code, _, err = in_process("run", *settings, "--force", data=rte)
    assert code == 2
    assert_error(err, "disk full", "--out")
    assert not list(tmp_path.glob("results/*/*/record.json"))
    code, _, err = in_process("run", *settings, data=rte)
    assert code == 0
    assert "update 2 of 2" in err
