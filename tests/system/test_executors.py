"""Runs as tasks of Ray and jobs of Slurm: those of one process, resumed where a worker dies or a command stops."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.cli import InProcess, assert_error
from support.processes import started
from support.results import results_of

import finetune
from finetune.api.planning import execute, plan
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.machines import cluster
from finetune.training.executors import on_slurm
from finetune.training.run_options import RunOptions

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
    on_ray = started(tmp_path, rte, *settings, "--out", "ray", "--on", "ray", "--workers", "2")
    out, err = on_ray.communicate(timeout=300)
    assert (on_ray.returncode, err.count("error: glue-cola: no data"), err.count("(2 runs)")) == (2, 1, 1), err
    assert "Traceback" not in err and "ray" not in err.lower().replace("--on ray", "")
    assert "mean" in out
    expected = results_of(tmp_path / "plain")
    assert len(expected) == 2
    assert results_of(tmp_path / "ray") == expected


@pytest.mark.nightly
def test_a_killed_worker_is_replaced_and_its_run_resumes(rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    settings = ["run", *LONG, f"model={tiny_bert}"]
    plain = started(tmp_path, rte, *settings, "--out", "plain", "--quiet")
    running = started(tmp_path, rte, *settings, "--out", "ray", "--on", "ray", "--workers", "2", "--quiet")
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
    running = started(tmp_path, rte, *settings, "--workers", "2")
    until = time.monotonic() + 120
    while sum('"updates"' in file.read_text() for file in tmp_path.glob("results/rte/*/events.jsonl")) < 2:
        assert time.monotonic() < until
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 130, err
    assert "stopped by Ctrl-C with 0 of 2 runs ended" in err
    assert len(list(tmp_path.glob("results/rte/*/checkpoints/*.pt"))) == 2
    again = started(tmp_path, rte, *settings)
    _, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert len(list(tmp_path.glob("results/rte/*/record.json"))) == 2


@pytest.mark.nightly
def test_a_running_cluster_is_joined_and_runs_come_back_from_it(
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
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        settings = ["run", "glue-rte", f"model={tiny_bert}", "train.epochs=1", "--seeds", "2", "--on", "ray"]
        running = started(tmp_path, rte, *settings, "--collect", "scores", "--quiet")
        _, err = running.communicate(timeout=200)
        assert running.returncode == 0, err
    finally:
        head.terminate()
        head.wait(timeout=60)
    records = list(tmp_path.glob("results/rte/*/record.json"))
    assert len(records) == 2
    for file in records:
        assert (file.parent / "predictions-dev.parquet").is_file()
        assert not (file.parent / "model").exists()


def answers(port: int) -> bool:
    """Whether a process listens at a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@pytest.mark.nightly
def test_runs_as_jobs_of_slurm_are_those_of_one_process(
    rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With submitit's local executor, which starts each job as a process of this machine."""
    monkeypatch.setattr(on_slurm, "CLUSTER", "local")
    monkeypatch.chdir(tmp_path)
    settings = {"model": str(tiny_bert), "train.epochs": 2}
    planned = plan(["glue-rte", "glue-cola"], settings, seeds=2)
    events: list[Any] = []
    records, failures = execute(
        planned,
        RunOptions(source=source_of(rte), out=tmp_path / "jobs"),
        watch=events.append,
        executor=on_slurm.OnSlurm(cpus_each=1),
    )
    assert (len(records), ["no train.tsv" in str(one) for one in failures]) == (2, [True, True]), failures
    assert {type(event).__name__ for event in events} == {"SweepProgress", "RunEnded"}
    typed = [f"{name}={value}" for name, value in settings.items()]
    plain = started(tmp_path, rte, "run", "glue-rte", *typed, "--seeds=2", "--data", str(rte))
    plain.communicate(timeout=300)
    assert results_of(tmp_path / "jobs") == results_of(tmp_path / "results")


def test_a_job_of_slurm_that_a_signal_stops_ends_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it raises submitit would log as a traceback."""

    def stopped(_: Any) -> None:
        raise KeyboardInterrupt("stopped by Ctrl-C after 20 of 40 updates")

    monkeypatch.setattr(on_slurm, "train_sent", stopped)
    found = on_slurm._Resumable()(SimpleNamespace(name="glue-rte"))  # type: ignore[arg-type]
    assert isinstance(found, UserError)
    assert str(found) == "glue-rte: stopped by Ctrl-C after 20 of 40 updates. The same command resumes it"


@pytest.mark.nightly
def test_submitit_leaves_the_logging_of_this_process_as_it_is(tmp_path: Path) -> None:
    """Configuring it would close the handlers of others: absl's closes the stream that it writes to."""
    code = f"""
import logging, pathlib
from finetune.training.executors import on_slurm

class Ours(logging.Handler):
    def close(self):
        print("closed")

kept = Ours()
on_slurm.CLUSTER = "local"
on_slurm.OnSlurm()._executor(pathlib.Path({str(tmp_path)!r}))
print("done", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("done"), done.stdout + done.stderr


def test_slurm_needs_sbatch_and_whole_gpus(
    in_process: InProcess, rte: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    command = ["run", "glue-rte", f"model={tiny_bert}", "--on", "slurm", "--quiet"]
    for options, words in (
        ([], ["no sbatch"]),
        (["--gpus-each", "0.5"], ["`--gpus-each` is 0.5"]),
        (["--collect", "all"], ["slurm has no `--collect`"]),
        (["--sbatch", "partition"], ["--sbatch partition", "partition=gpu"]),
    ):
        code, _, err = in_process(*command, *options, data=rte)
        assert code == 2
        assert_error(err, *words)


@pytest.mark.parametrize("options", [{"workers": 2}, {"on": "rya"}, {"on": "ray", "workers": 0}])
def test_a_wrong_executor_is_refused_before_data_is_read(
    in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    for module in ("finetune.commands.run.command", "finetune.commands.run.api"):
        monkeypatch.setattr(f"{module}.plan", lambda *_, **__: pytest.fail("the data was read"))
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    code, _, err = in_process("run", "corpus.txt", *given, data=tmp_path)
    assert code == 2
    assert_error(err, "workers" if "workers" in options else "rya")
    with pytest.raises(UserError, match=r"workers|rya"):
        finetune.train("corpus.txt", **options)


def test_wrong_numbers_and_addresses_are_refused_before_anything_starts(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["run", "glue-rte", f"model={tiny_bert}", "--seeds", "2", "--quiet"]
    for options, words in (
        (["--on", "rya"], ["'rya'", "Did you mean 'ray'"]),
        (["--workers", "2"], ["--workers", "--on"]),
        (["--on", "ray", "--workers", "0"], ["`--workers` is 0"]),
        (["--on", "ray", "--gpus-each", "1.5"], ["`--gpus-each` is 1.5"]),
    ):
        code, _, err = in_process(*command, *options, data=rte)
        assert code == 2
        assert_error(err, *words)
    monkeypatch.setattr(cluster, "TOKEN", tmp_path / "none")  # else this process asks for tokens from here on
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    code, _, err = in_process(*command, "--on", "ray", data=rte)
    assert code == 2
    assert_error(err, "no Ray cluster could be joined at 127.0.0.1:1", "RAY_ADDRESS")
    assert not (tmp_path / "results").exists()


def test_without_ray_the_extra_is_named(
    in_process: InProcess, rte: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = in_process("run", "glue-rte", f"model={tiny_bert}", "--on", "ray", "--quiet", data=rte)
    assert code == 2
    assert_error(err, "Ray is not installed", "pip install 'bert-finetune[ray]'")
