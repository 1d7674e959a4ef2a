"""Files are written as a whole or not at all."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from finetune.data.atomic import output_file, remove_scratch, scratch_file, write_atomically
from finetune.data.writing import write_rows
from finetune.errors import UserError
from finetune.runs.predictions import write_predictions


@pytest.mark.parametrize("writing", [scratch_file, output_file])
def test_a_writer_that_fails_leaves_the_old_file_and_no_other(
    writing: Callable[[Path], AbstractContextManager[Path]], tmp_path: Path
) -> None:
    file = tmp_path / "a.txt"
    write_atomically(file, "old")
    for wrong in (KeyboardInterrupt, OSError("disk full"), ValueError):
        with pytest.raises((KeyboardInterrupt, OSError, ValueError, UserError)), writing(file) as scratch:
            scratch.write_text("half of the n")
            raise wrong
        assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.txt", "old")]
    write_atomically(file, "new")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.txt", "new")]


def test_where_a_file_that_a_user_named_cannot_be_written_is_said(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match=r"a\.txt: cannot be written \(No such file"),
        output_file(tmp_path / "nowhere" / "a.txt") as scratch,
    ):
        scratch.write_text("new")


def failing_rows() -> Iterator[dict[str, Any]]:
    yield {"text": "one"}
    raise RuntimeError


def write_half_of_the_rows(file: Path) -> None:
    write_rows(file, failing_rows(), ["text"])


def write_what_is_not_a_table(file: Path) -> None:
    write_predictions(file, [{"a": 1}, {"a": "text"}], {})


@pytest.mark.parametrize("write", [write_half_of_the_rows, write_what_is_not_a_table])
def test_every_writer_keeps_the_old_file(write: Callable[[Path], None], tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("old")
    with pytest.raises(Exception, match=r".*"):
        write(file)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.csv", "old")]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    for left in (tmp_path / ".record.json.tmp", tmp_path / "model" / ".config.json.tmp", tmp_path / "kept.tmp"):
        left.write_text("half")
    remove_scratch(tmp_path)
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["kept.tmp"]


def test_the_content_is_on_the_disk_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut after a rename without this leaves an empty file under the right name."""
    synced: list[str] = []
    monkeypatch.setattr("finetune.data.atomic.sync", lambda path: synced.append(f"{path.name} {path.exists()}"))
    write_atomically(tmp_path / "a.txt", "new")
    assert synced == [".a.txt.tmp True", f"{tmp_path.name} True"]
