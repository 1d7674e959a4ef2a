"""Files are written as a whole or not at all."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch

from finetune.data.atomic import output_file, scratch_file, write_atomically
from finetune.data.writing import write_rows
from finetune.errors import UserError
from finetune.runs.predictions import write_predictions
from finetune.training.checkpoints import Checkpoints, Progress


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


def save_what_cannot_be_saved(file: Path) -> None:
    class Part:
        def state_dict(self) -> dict[str, Any]:
            return {"weight": torch.zeros(10), "name": lambda: None}

    Checkpoints(file).save({"part": Part()}, Progress())


@pytest.mark.parametrize("write", [write_half_of_the_rows, write_what_is_not_a_table, save_what_cannot_be_saved])
def test_every_writer_keeps_the_old_file(write: Callable[[Path], None], tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("old")
    with pytest.raises(Exception, match=r".*"):
        write(file)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.csv", "old")]
