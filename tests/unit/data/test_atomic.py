"""Files are written as a whole or not at all."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from finetune.data.atomic import (
    output_file,
    remove_scratch,
    replace_folder,
    require_replaceable_output,
    scratch_file,
    scratch_folder,
    temporary_folder,
    write_atomically,
)
from finetune.data.writing import write_rows
from finetune.errors import UserError
from finetune.runs.folder import write_predictions


def failing_rows() -> Iterator[dict[str, Any]]:
    yield {"text": "one"}
    raise RuntimeError


def half_written(
    writing: Callable[[Path], AbstractContextManager[Path]], error: BaseException
) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        with writing(file) as scratch:
            scratch.write_text("half of the n")
            raise error

    return write


@pytest.mark.parametrize(
    "write",
    [
        *[half_written(scratch_file, error) for error in (KeyboardInterrupt(), OSError("disk full"), ValueError())],
        *[half_written(output_file, error) for error in (KeyboardInterrupt(), OSError("disk full"), ValueError())],
        lambda file: write_rows(file, failing_rows(), ["text"]),
        lambda file: write_predictions(file, [{"a": 1}, {"a": "text"}], {}),
    ],
)
def test_a_writer_that_fails_leaves_the_old_file_and_no_other(write: Callable[[Path], None], tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    write_atomically(file, "old")
    with pytest.raises(BaseException, match=r".*"):
        write(file)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.csv", "old")]
    write_atomically(file, "new")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.csv", "new")]
    with pytest.raises(UserError, match=r"a\.txt: cannot be written \(No such file"):
        half_written(output_file, ValueError())(tmp_path / "nowhere" / "a.txt")


def test_the_content_is_on_the_disk_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut after a rename without this leaves an empty file under the right name."""
    synced: list[str] = []
    monkeypatch.setattr("finetune.data.atomic.sync", lambda path: synced.append(f"{path.name} {path.exists()}"))
    for _ in range(3):
        write_atomically(tmp_path / "a.txt", "new")
    assert all(re.fullmatch(r"\.a\.txt\.[0-9a-f]{16}\.tmp True", name) for name in synced[::2])
    assert (len({*synced[::2]}), synced[1::2]) == (3, [f"{tmp_path.name} True"] * 3)


def test_a_scratch_file_that_exists_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("theirs")
    monkeypatch.setattr("os.urandom", bytes)
    (tmp_path / f".a.txt.{'00' * 8}.tmp").symlink_to(elsewhere)
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "a.txt", "new")
    assert elsewhere.read_text() == "theirs"


KILLED = "import sys, time; from pathlib import Path; from finetune.data import atomic\n\
with getattr(atomic, sys.argv[1])(Path(sys.argv[2])): print('writes', flush=True); time.sleep(60)"


@pytest.mark.parametrize("writing", [scratch_file, scratch_folder, temporary_folder])
def test_scratch_of_a_killed_writer_goes(
    writing: Callable[[Path], AbstractContextManager[Path]], tmp_path: Path
) -> None:
    place = tmp_path / ("한" * 80 + ".csv")  # 244 bytes, which leave no room for a longer name
    code = [sys.executable, "-c", KILLED, writing.__name__, str(place)]
    with subprocess.Popen(code, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline()
        with writing(place):
            assert len(list(tmp_path.rglob(".*.tmp"))) == 2  # that of the other process, which is alive, stays
        writer.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.rglob(".*.tmp"))) == 1
    with writing(place):
        pass
    assert not list(tmp_path.rglob(".*.tmp"))


def test_nothing_but_scratch_files_is_removed(tmp_path: Path) -> None:
    others = [f".a.txt.{'0' * 15}.tmp", f".ab.txt.{'0' * 16}.tmp", f"a.txt.{'0' * 16}.tmp", ".a.txt.tmp"]
    for name in others:
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / f".a.txt.{'0' * 16}.tmp")  # reading one may never end
    (tmp_path / f".a.txt.{'1' * 16}.tmp").symlink_to(tmp_path / others[0])
    before = {*tmp_path.iterdir()}
    write_atomically(tmp_path / "a.txt", "new")
    assert {*tmp_path.iterdir()} == before | {tmp_path / "a.txt"}
    (tmp_path / "run" / "model").mkdir(parents=True)
    for left in (".record.json.tmp", "model/.config.json.tmp", "kept.tmp"):
        (tmp_path / "run" / left).write_text("half")
    remove_scratch(tmp_path / "run")
    assert [file.name for file in (tmp_path / "run").rglob("*") if file.is_file()] == ["kept.tmp"]


@pytest.mark.parametrize(("before", "left"), [(True, "old"), (False, "new")])
def test_an_output_is_ours_at_once(before: bool, left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a process ends before the rename, which is after the note, the file before it is still ours."""
    file = tmp_path / "a.csv"
    with output_file(file) as scratch:
        scratch.write_text("old")

    def ending(path: Path) -> None:
        if path.is_dir() != before:
            raise KeyboardInterrupt

    monkeypatch.setattr("finetune.data.atomic.sync", ending)
    with pytest.raises(KeyboardInterrupt), output_file(file) as scratch:
        scratch.write_text("new")
    assert file.read_text() == left
    require_replaceable_output(file)


def test_a_folder_is_replaced_whole_or_stays(tmp_path: Path) -> None:
    folder, new = tmp_path / "folder", tmp_path / "new"
    folder.mkdir()
    (folder / "old.txt").write_text("old")
    with pytest.raises(FileNotFoundError):
        replace_folder(new, folder)
    assert (folder / "old.txt").read_text() == "old"
    new.mkdir()
    (new / "new.txt").write_text("new")
    replace_folder(new, folder)
    assert [file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*")] == ["folder", "folder/new.txt"]
