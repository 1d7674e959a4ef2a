"""`predict` finds what is wrong with names, columns and outputs before it loads anything, and writes nothing."""

from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.runs import FinishedRun

from finetune.cli import printing


@pytest.fixture
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: str) -> None:
        raise AssertionError("libraries were loaded")

    monkeypatch.setattr(printing, "load_libraries", load)


@pytest.mark.usefixtures("nothing_is_loaded")
@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        ("regression", ["one.csv"], ["one.csv", "no column 'b'", "It has a, note", "text=COLUMN,COLUMN"]),
        ("sentence", ["numbers.csv"], ["numbers.csv", "no column 'review'", "It has price, count", "text=COLUMN"]),
        ("sentence", ["one.csv", "text=nota"], ["'nota'", "'note'"]),
        ("sentence", ["one.csv", "txt=note"], ["'txt'", "Did you mean 'text'"]),
        ("sentence", ["one.csv", "-o", "out.docx"], ["'.docx'", ".csv"]),
        ("sentence", ["one.csv", "-o", "no/out.csv"], ["no/out.csv", "no such folder"]),
        ("sentence", ["one.csv", "-o", "one.csv"], ["one.csv", "overwrite"]),
        ("sentence", ["missing.csv"], ["missing.csv"]),
    ],
)
def test_before_anything_is_loaded(
    in_process: InProcess, finished_run: FinishedRun, tmp_path: Path, kind: str, arguments: list[str], words: list[str]
) -> None:
    (tmp_path / "one.csv").write_text("a,note\n" + "the cat sat,red\n" * 9)
    (tmp_path / "numbers.csv").write_text("price,count\n" + "".join(f"{i / 2},{i}\n" for i in range(9)))
    before = {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    code, out, err = in_process("predict", str(finished_run(kind)), *arguments, data=tmp_path)
    assert (code, out) == (2, "")
    assert_error(err, *words)
    assert {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == before


@pytest.mark.usefixtures("nothing_is_loaded")
def test_data_that_no_run_was_trained_on_is_not_looked_up_on_the_hub(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,label\na,b\n")
    code, _, err = in_process("predict", "rows.csv", "rows.csv", data=tmp_path)
    assert code == 2
    assert_error(err, "rows.csv", "finetune run rows.csv")
