"""The folder of a run: locked, published as a whole, and checked when it is read."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.runs import FinishedRun

from finetune.data import checksums
from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.runs.folder import RunFolder, read_lines
from finetune.runs.record_files import DamagedRecord, all_records, load_record, write_record

HOLD = """
import sys
from pathlib import Path
from finetune.runs.folder import RunFolder
with RunFolder(Path(sys.argv[1])).locked(wait=False):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def run(finished_run: FinishedRun, tmp_path: Path) -> RunFolder:
    """A copy of a finished run."""
    return RunFolder(shutil.copytree(finished_run("sentence"), tmp_path / "results" / "reviews.csv" / "run"))


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lock of `tmp_path / "run"`."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_a_lock_names_its_process_and_is_taken_over_when_that_is_killed(
    holder: subprocess.Popen[str], tmp_path: Path
) -> None:
    run, notes = RunFolder(tmp_path / "run"), list[str]()
    held = f"is being trained by process {holder.pid} on "
    with pytest.raises(UserError, match=held), run.locked(wait=False):
        pass
    run.clean()
    assert (run.path / ".holder").is_file()  # of a process that lives
    threading.Timer(0.7, holder.kill).start()
    started = time.monotonic()
    with run.locked(wait=True, tell=notes.append):
        assert time.monotonic() - started > 0.5
        assert (run.path / ".holder").read_text().startswith(f"process {os.getpid()} ")
    (note,) = notes
    assert held in note and note.endswith("; waiting for its record")
    assert [file.name for file in run.path.iterdir()] == [".lock"]


def test_a_folder_that_vanished_under_its_lock_is_noticed(tmp_path: Path) -> None:
    """A library that saves a file makes its folder again: then a record would lack what was written before."""
    run = RunFolder(tmp_path / "run")
    with run.locked(wait=False):
        run.require_locked()
        run.path.rename(tmp_path / "gone")
        for make in (lambda: run.path.mkdir(), lambda: (run.path / ".lock").touch(), lambda: None):
            with pytest.raises(UserError, match="was removed while the run was trained"):
                run.require_locked()
            make()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("file/run", r"file/.*cannot be written or locked \(Not a directory\)"),
        ("s3://bucket/runs", "is an address"),
        ("~/runs", "begins with ~"),
    ],
)
def test_a_folder_elsewhere_is_refused_before_training(
    place: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("no folder")
    before = {*tmp_path.rglob("*")}
    with pytest.raises(UserError, match=words), RunFolder.of(Path(place), "t", "1").locked(wait=True):
        pass
    assert {*tmp_path.rglob("*")} == before


def newer(run: RunFolder) -> dict[str, bytes]:
    """Puts a finished attempt into the folder, with other contents; those by name."""
    new = shutil.copytree(run.path, run.path / "new", ignore=shutil.ignore_patterns("new"))
    (new / "events.jsonl").write_text('{"event": "newer"}\n')
    (new / "model" / "more.txt").write_text("newer")
    record = load_record(new / "record.json").model_copy(update={"finished": "2100-01-01T00:00:00+00:00"})
    write_record(new / "record.json", record)
    return contents(new)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, but for those of the lock and of a newer attempt."""
    names = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return {name: file.read_bytes() for name, file in names.items() if name[0] != "." and not name.startswith("new/")}


class Killed(BaseException):
    """The process was killed."""


def test_a_newer_run_replaces_the_old_one_whenever_it_is_killed(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each single removal and rename: there is the old record or the new one with all its files, or none."""
    before, expected, old = contents(run.path), newer(run), run.record()
    for steps in range(100):
        copy = RunFolder(shutil.copytree(run.path, run.path.parent / f"copy-{steps}"))
        left = steps

        def counted(function: Any) -> Any:
            def call(*given: Any, **named: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    raise Killed
                return function(*given, **named)

            return call

        with monkeypatch.context() as patch:
            for owner, name in ((Path, "unlink"), (Path, "replace"), (Path, "rmdir"), (shutil, "rmtree")):
                patch.setattr(owner, name, counted(getattr(owner, name)))
            try:
                copy.publish()
            except Killed:
                found = copy.record()
                assert found is None or contents(copy.path) == (before if found == old else expected)
        with copy.locked(wait=False):
            assert contents(copy.path) == expected
        if left >= 0:
            break
    assert steps > 8


def test_an_attempt_that_is_not_finished_is_left_alone_also_where_the_old_record_is_gone(run: RunFolder) -> None:
    before = contents(run.path)
    newer(run)
    (run.path / "new" / "record.json").unlink()
    with run.locked(wait=False):
        assert contents(run.path) == before
    run.record_file.unlink()
    with run.locked(wait=False):
        assert run.attempt.path == run.path / "new"
        assert (run.attempt.path / "model" / "more.txt").is_file()


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_a_record_or_predictions_that_were_changed_are_an_error(run: RunFolder) -> None:
    assert read_lines(run, "dev")
    flip(run.predictions("dev"))
    with pytest.raises(UserError, match=r"predictions-dev\.parquet: is damaged.*`force`"):
        read_lines(run, "dev")
    text = run.record_file.read_text()
    assert '"accuracy": 1.0' in text
    run.record_file.write_text(text.replace('"accuracy": 1.0', '"accuracy": 0.9', 1))
    with pytest.raises(UserError, match=r"record\.json: is damaged or was edited"):
        run.record()
    with pytest.warns(DamagedRecord, match="is damaged or was edited"):
        assert all_records(run.path.parents[1]) == []


def test_every_file_of_a_model_is_checked(run: RunFolder, tmp_path: Path) -> None:
    """Also of a model folder that was copied out of its run."""
    files = sorted(file.name for file in run.model.iterdir() if file.name != checksums.ABOUT)
    assert {"config.json", "model.safetensors", "checksums.json"} < {*files}
    for name in files:
        for change in (flip, Path.unlink) if name == "tokenizer_config.json" else (flip,):
            folder = RunFolder(shutil.copytree(run.path, tmp_path / f"copy {name} {change.__name__}"))
            change(folder.model / name)
            alone = shutil.copytree(folder.model, tmp_path / f"model {name} {change.__name__}")
            for target in (folder.path, alone):
                with pytest.raises(UserError, match=r"is (damaged|missing)") as raised:
                    load_predictor(target)
                assert name in str(raised.value) or name == checksums.CHECKSUMS


def test_older_records_models_and_predictions_are_read(run: RunFolder, tmp_path: Path) -> None:
    record = load_record(run.record_file)
    text = record.model_copy(update={"files": {}, "checksum": ""}).model_dump_json(exclude={"files", "checksum"})
    run.record_file.write_text(text)
    (run.model / checksums.CHECKSUMS).unlink()
    assert load_predictor(run.path)("the cat sat").value in ("good", "bad")
    older = [{"id": "1", "text": "a", "gold": "x", "answer": "y"}]
    pq.write_table(pa.Table.from_pylist(older), run.predictions("dev"))
    assert read_lines(run, "dev") == [{"id": "1", "text": "a", "gold": "x", "prediction": "y"}]
    pq.write_table(pa.Table.from_pylist([{"id": "1", "gold": "x"}]), run.predictions("dev"))
    with pytest.raises(UserError, match="has no column prediction"):
        read_lines(run, "dev")
