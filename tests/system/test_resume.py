"""Runs that were killed, stopped, failed or started twice: the same command finishes them, once."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune, InProcess, assert_error, started, wait_for

from finetune.data import atomic

LONG = ["glue-rte", "train.epochs=250", "train.batch_size=8", "--checkpoint-updates=10"]


@pytest.mark.nightly
def test_a_run_that_is_killed_resumes_and_a_second_command_waits_for_it(
    rte: Path, tiny_bert: Path, tmp_path: Path, here: Finetune
) -> None:
    settings = [*LONG, f"model={tiny_bert}"]
    first = started(tmp_path, rte, "run", *settings)
    wait_for(tmp_path, "results/rte/*/checkpoints/*.pt")
    refused = here("run", *settings, "--no-wait", data=rte)
    assert refused.returncode == 2
    assert_error(refused.stderr, f"process {first.pid}")
    waiting = started(tmp_path, rte, "run", *settings)
    first.kill()
    first.communicate()
    _, err = waiting.communicate(timeout=300)
    assert (waiting.returncode, "resuming after update" in err) == (0, True), err
    (folder,) = tmp_path.glob("results/rte/*")
    assert len(json.loads((folder / "record.json").read_text())["epochs"]) == 250
    assert not (folder / "checkpoints").exists()
    again = here("run", *settings, data=rte)
    assert (again.returncode, "already done" in again.stderr) == (0, True)


@pytest.mark.nightly
def test_two_commands_at_once_train_once(rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    both = [started(tmp_path, rte, "run", *LONG, f"model={tiny_bert}", "--json") for _ in range(2)]
    ended = [one.communicate(timeout=300) for one in both]
    assert [one.returncode for one in both] == [0, 0], ended
    assert ended[0][0] == ended[1][0]  # one record, to the second that it was finished
    (events,) = tmp_path.glob("results/rte/*/events.jsonl")
    assert [json.loads(line)["event"] for line in events.read_text().splitlines()].count("start") == 1


@pytest.mark.slow
def test_a_signal_stops_within_seconds_and_says_how_to_resume(
    rte: Path, tiny_bert: Path, tmp_path: Path, here: Finetune
) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=80", "train.batch_size=8"]
    running = started(tmp_path, rte, "run", *settings, "--seeds", "2", "--checkpoint-updates=10")
    wait_for(tmp_path, "results/rte/*/checkpoints/*.pt")
    running.send_signal(signal.SIGTERM)
    asked = time.monotonic()
    _, err = running.communicate(timeout=60)
    assert (running.returncode, time.monotonic() - asked < 10) == (143, True)
    last = err.splitlines()[-1]
    assert last.startswith("stopped by SIGTERM after update ") and "the same command resumes" in last
    assert len(list(tmp_path.glob("results/rte/*"))) == 1  # the other seed was not begun
    update = last.split()[5].rstrip(",")
    resumed = here("run", *settings, data=rte)
    assert (resumed.returncode, f"resuming after update {update} of" in resumed.stderr) == (0, True), resumed.stderr


def test_a_forced_run_keeps_the_old_one_until_it_is_finished(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=1"]
    assert in_process("run", *settings, data=rte)[0] == 0
    (record,) = tmp_path.glob("results/*/*/record.json")
    before = {file: file.read_bytes() for file in record.parent.rglob("*") if file.is_file()}

    def full(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("finetune.training.run.save_checkpoint", full)
        code, _, err = in_process("run", *settings, "--force", data=rte)
    assert code == 2
    assert_error(err, "disk full", "--out")
    assert {file: file.read_bytes() for file in before} == before
    for more, is_done in (([], True), (["--force"], False)):
        code, _, err = in_process("run", *settings, *more, data=rte)
        assert (code, "already done" in err) == (0, is_done), err
    assert record.read_bytes() != before[record]
    assert {file.name for file in record.parent.iterdir()} == {
        *(".lock", "events.jsonl", "model", "predictions-dev.parquet", "recipe.toml", "record.json", "trained-on.npy")
    }


def fill_disk(file: Path, patched: pytest.MonkeyPatch) -> None:
    """Lets a file of a run be on a disk without space, whoever opens it: Python, or a library in Rust."""

    @contextmanager
    def scratch_folder(folder: Path) -> Iterator[Path]:
        with atomic.scratch_folder(folder) as scratch:
            if folder.resolve() == file.parent:
                (scratch / file.name).symlink_to("/dev/full")
            yield scratch

    def opened(path: Path, mode: str = "r", **named: Any) -> Any:
        full = mode == "a" and path.resolve() == file
        return open("/dev/full" if full else path, mode, **named)  # noqa: PTH123

    patched.setattr("finetune.models.saving.scratch_folder", scratch_folder)
    patched.setattr(Path, "open", opened)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device without space")
@pytest.mark.parametrize("full", ["events.jsonl", "model/tokenizer.json"])
def test_a_full_disk_ends_one_run_and_not_the_others(
    full: str, in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=1", "--json"]
    assert in_process("run", *settings, data=rte)[0] == 0
    (record,) = tmp_path.glob("results/*/*/record.json")
    record.unlink()
    with monkeypatch.context() as patched:
        fill_disk(record.parent / full, patched)
        code, out, err = in_process("run", *settings, "--seeds", "2", data=rte)
    assert (code, len(out.splitlines())) == (2, 1)  # the other seed's record
    assert_error(err, "No space left on device", "Free space")
    code, out, _ = in_process("run", *settings, "--seeds", "2", data=rte)
    assert (code, len(out.splitlines())) == (0, 2)
