"""A run that several Ray tasks train together is that of `--processes` without Ray, and resumes as a whole."""

import json
import os
import signal
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.processes import ray_tasks, soon, started
from support.results import results_of

pytest.importorskip("ray")
TASK = ["run", "glue-rte", "train.batch_size=8", "--processes", "2", "--quiet"]
LONG = [*TASK, "train.epochs=120", "--checkpoint-updates=20"]


@pytest.mark.nightly
@pytest.mark.parametrize(("function", "count"), [("_train_seated", 2), ("train_together", 1)])
def test_a_group_of_which_a_process_is_killed_resumes_to_the_run_without_ray(
    function: str, count: int, rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    """Also where it is the process that has started the others, and holds the room for them."""
    settings = [*LONG, f"model={tiny_bert}"]
    plain = started(tmp_path, rte, *settings, "--out", "plain")
    assert plain.communicate(timeout=300) and plain.returncode == 0
    running = started(tmp_path, rte, *settings, "--out", "ray", "--on", "ray")
    assert soon(lambda: list(tmp_path.glob("ray/rte/*/checkpoints/*.pt")))
    processes = ray_tasks(running.pid, function)
    os.kill(processes[-1], signal.SIGKILL)
    _, err = running.communicate(timeout=200)
    assert (running.returncode, len(processes)) == (0, count), err
    found = results_of(tmp_path / "ray")
    assert found == results_of(tmp_path / "plain")
    assert [record["processes"] for record in found.values()] == [2]
    (log,) = tmp_path.glob("ray/rte/*/events.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["done"] > 0 for event in events if event["event"] == "training"] == [False, True]


@pytest.mark.nightly
def test_ctrl_c_lets_a_group_write_its_checkpoint(rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    """Of a run that is not over when a busy machine passes the signal on."""
    settings = [*TASK, "train.epochs=2000", "--checkpoint-updates=100000", f"model={tiny_bert}", "--on", "ray"]
    running = started(tmp_path, rte, *settings)
    assert soon(
        lambda: any('"event": "epoch"' in log.read_text() for log in tmp_path.glob("results/rte/*/events.jsonl"))
    )
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 130, err
    assert "stopped by Ctrl-C with 0 of 1 runs ended" in err
    assert len(list(tmp_path.glob("results/rte/*/checkpoints/*.pt"))) == 1


@pytest.mark.nightly
def test_an_error_of_a_group_is_a_line_with_its_name_and_is_not_tried_again(
    rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    settings = ["run", "glue-cola", "glue-rte", f"model={tiny_bert}", "train.epochs=1", "--processes", "2", "--quiet"]
    running = started(tmp_path, rte, *settings, "--on", "ray")
    out, err = running.communicate(timeout=200)
    assert (running.returncode, out.startswith("rte ")) == (2, True), err
    assert_error(err, "glue-cola: no data")
    too_many = started(tmp_path, rte, *settings, "--on", "ray", "--machines", "2")
    _, err = too_many.communicate(timeout=100)
    assert too_many.returncode == 2
    assert_error(err, "need 2 machines", "this machine has 1", "`--processes`")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--on", "ray", "--processes", "0"], ["`--processes` is 0"]),
        (["--on", "ray", "--processes", "2", "--gpus-each", "0.5"], ["`--gpus-each` is 0.5", "share no GPU"]),
        (["--on", "ray", "--machines", "2", "--collect", "all"], ["`--collect`", "one machine"]),
        (["--on", "ray", "--machines", "2", "--address", "node1:29500"], ["ray has no `--address`"]),
        (["--on", "slurm", "--processes", "2"], ["slurm has no `--processes`"]),
    ],
    ids=str,
)
def test_groups_that_cannot_be_are_refused(
    options: list[str], words: list[str], in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    code, _, err = in_process("run", "glue-rte", f"model={tiny_bert}", *options, "--quiet", data=rte)
    assert code == 2
    assert_error(err, *words)
    assert not (tmp_path / "results").exists()


def test_a_launcher_and_ray_exclude_each_other(
    in_process: InProcess, rte: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    code, _, err = in_process("run", "glue-rte", "--on", "ray", data=rte)
    assert code == 2
    assert_error(err, "`--on`", "launcher")
