"""`split=COLUMN`: the rows of dev are those that a column of the file says."""

from pathlib import Path

import pytest

from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.task_types.own_data import own_task


def write(folder: Path, words: tuple[str, ...]) -> str:
    file = folder / "rows.csv"
    rows = [f"the cat {number},{'ab'[number % 2]},{words[number % len(words)]}" for number in range(12)]
    file.write_text("\n".join(["text,label,part", *rows, "the dog,,"]) + "\n")
    return str(file)


def test_dev_is_what_the_column_says(tmp_path: Path) -> None:
    task = own_task(write(tmp_path, ("train", "Train", "validation")), {"split": "part"})
    loaded = task.load(source_of(None), "dev")
    assert [row.id for row in loaded.rows] == ["3", "6", "9", "12"]
    assert len(task.load(source_of(None), "train").rows) == 8
    assert any("as says the column part" in note for note in loaded.notes)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "test"), ["row 2", "'test'", "test=FILE"]),
        (("train", ""), ["row 2", "''"]),
        (("train",), ["all rows are train"]),
    ],
)
def test_a_column_that_does_not_say_it_is_an_error(tmp_path: Path, words: tuple[str, ...], said: list[str]) -> None:
    with pytest.raises(UserError) as error:
        own_task(write(tmp_path, words), {"split": "part"}).load(source_of(None), "dev")
    assert [word for word in said if word not in f"{error.value.what} {error.value.way_out}"] == []


def test_a_column_that_is_not_there_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no such column.*Did you mean 'part'"):
        own_task(write(tmp_path, ("train", "dev")), {"split": "prat"}).load(source_of(None), "dev")
