"""Runs as tasks of Ray: those of one process, resumed where a worker dies or a command stops."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.processes import started
from support.results import results_of

import finetune
from finetune.errors import UserError
from finetune.training import on_ray

ray = pytest.importorskip("ray")
LONG = ["glue-rte", "train.epochs=120", "train.batch_size=8", "--checkpoint-updates=20", "--seeds", "2"]


def workers(out: Path) -> dict[Path, int]:
    """The processes that train now, by run folder."""
    found = {}
    for file in out.glob("*/*/.holder"):
        words = file.read_text().split()
        if len(words) > 1:
            found[file.parent] = int(words[1])
    return found


@pytest.mark.nightly
def test_runs_on_ray_are_those_of_one_process_and_a_failed_one_is_a_line(
    rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    settings = ["run", "glue-rte", "glue-cola", f"model={tiny_bert}", "train.epochs=2", "--seeds", "2"]
    plain = started(tmp_path, rte, *settings, "--out", "plain")
    _, err = plain.communicate(timeout=300)
    assert (plain.returncode, err.count("glue-cola: no data"), err.count("(2 runs)")) == (2, 1, 1)
    on_cluster = started(tmp_path, rte, *settings, "--out", "ray", "--on", "ray")
    out, err = on_cluster.communicate(timeout=300)
    assert (on_cluster.returncode, err.count("error: glue-cola: no data"), err.count("(2 runs)")) == (2, 1, 1), err
    assert "Traceback" not in err and "ray" not in err.lower().replace("--on ray", "")
    assert "mean" in out
    expected = results_of(tmp_path / "plain")
    assert len(expected) == 2
    assert results_of(tmp_path / "ray") == expected


@pytest.mark.nightly
def test_a_killed_worker_is_replaced_and_its_run_resumes(rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    settings = ["run", *LONG, f"model={tiny_bert}"]
    plain = started(tmp_path, rte, *settings, "--out", "plain", "--quiet")
    running = started(tmp_path, rte, *settings, "--out", "ray", "--on", "ray", "--quiet")
    killed: list[Path] = []
    until = time.monotonic() + 200
    while running.poll() is None and len(killed) < 2:
        assert time.monotonic() < until
        for folder, process in workers(tmp_path / "ray").items():
            if folder not in killed and list(folder.glob("checkpoints/*.pt")):
                os.kill(process, signal.SIGKILL)
                killed.append(folder)
        time.sleep(0.05)
    _, err = running.communicate(timeout=300)
    assert (running.returncode, len(killed)) == (0, 2), err
    plain.communicate(timeout=300)
    assert results_of(tmp_path / "ray") == results_of(tmp_path / "plain")
    for folder in killed:
        events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
        assert [event["done"] > 0 for event in events if event["event"] == "training"][-1]


@pytest.mark.nightly
def test_a_stopped_command_has_checkpoints_and_the_same_one_resumes(rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    settings = ["run", *LONG, "--checkpoint-updates=100000", f"model={tiny_bert}", "--quiet", "--on", "ray"]
    running = started(tmp_path, rte, *settings)
    until = time.monotonic() + 120
    while not any('"updates"' in file.read_text() for file in tmp_path.glob("results/rte/*/events.jsonl")):
        assert time.monotonic() < until
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 130, err
    assert "stopped by Ctrl-C with 0 of 2 runs ended" in err
    assert list(tmp_path.glob("results/rte/*/checkpoints/*.pt"))
    again = started(tmp_path, rte, *settings)
    _, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert len(list(tmp_path.glob("results/rte/*/record.json"))) == 2


@pytest.mark.nightly
def test_a_running_cluster_is_joined(
    rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--head", "--block", f"--port={port}", "--num-cpus=2", "--node-ip-address=127.0.0.1"]
    options += ["--include-dashboard=false", "--disable-usage-stats", "--object-store-memory=100000000"]
    script = Path(sys.executable).with_name("ray")
    head = subprocess.Popen([script, "start", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while not answers(port):
            assert time.monotonic() < until
            time.sleep(0.2)
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
        settings = ["run", "glue-rte", f"model={tiny_bert}", "train.epochs=1", "--seeds", "2", "--on", "ray"]
        running = started(tmp_path, rte, *settings, "--quiet")
        _, err = running.communicate(timeout=200)
        assert running.returncode == 0, err
    finally:
        head.terminate()
        head.wait(timeout=60)
    assert len(list(tmp_path.glob("results/rte/*/record.json"))) == 2


def answers(port: int) -> bool:
    """Whether a process listens at a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def test_a_machine_that_does_not_see_the_results_folder_is_an_error(rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    from finetune.api.planning import plan
    from finetune.data.source import source_of
    from finetune.training.run_options import RunOptions

    (planned,) = plan(["glue-rte"], {"model": str(tiny_bert), "train.epochs": 1})
    options = RunOptions(source=source_of(rte), out=tmp_path / "here", device="cpu")
    refused = on_ray._train(on_ray._sent(planned, options, tmp_path / "no-marker"))
    assert isinstance(refused, UserError)
    assert "does not see this folder" in str(refused)
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(("on", "words"), [("rya", ["`--on` is 'rya'"]), ("slurm", ["'slurm' was taken out", "array"])])
def test_another_value_is_refused_before_data_is_read(
    on: str, words: list[str], in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("finetune.commands.run.command", "finetune.commands.run.api"):
        monkeypatch.setattr(f"{module}.plan", lambda *_, **__: pytest.fail("the data was read"))
    code, _, err = in_process("run", "corpus.txt", "--on", on, data=tmp_path)
    assert code == 2
    assert_error(err, *words)
    with pytest.raises(UserError, match=on):
        finetune.train("corpus.txt", on=on)


def test_a_process_of_a_launcher_starts_no_others(in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    code, _, err = in_process("run", "quickstart", "--on", "ray", data="")
    assert code == 2
    assert_error(err, "a launcher has started this one")


def test_without_ray_the_extra_is_named(
    in_process: InProcess, rte: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = in_process("run", "glue-rte", f"model={tiny_bert}", "--on", "ray", "--quiet", data=rte)
    assert code == 2
    assert_error(err, "Ray is not installed", "pip install 'bert-finetune[ray]'")
