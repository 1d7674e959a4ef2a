"""GLUE's submission: runs and rows that are missing, wrong or damaged, and a zip that cannot be written."""

from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.glue import FEW, NINE, Checkpoint, predictions_of, write_test_set


def test_missing_runs_are_named_and_nothing_is_written(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path
) -> None:
    given = [nine[task] for task in NINE if task not in ("mnli", "rte")]
    code, _, err = in_process("submission", *given, "-o", "glue.zip", data=made)
    assert code == 2
    assert err.startswith("error: no run was named for MNLI-m.tsv, MNLI-mm.tsv, RTE.tsv, AX.tsv. ")
    assert "(finetune run glue-mnli glue-rte)" in err
    assert "--fill-missing" in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.glob("*.zip"))


@pytest.mark.parametrize("rows", [145, 147])
def test_another_number_of_rows_is_an_error(
    in_process: InProcess, nine: dict[str, str], tmp_path: Path, rows: int
) -> None:
    file = write_test_set(tmp_path, "WNLI.tsv", rows)
    (tmp_path / "glue.zip").write_text("what was there")
    code, _, err = in_process("submission", nine["wnli"], "-o", "glue.zip", "--fill-missing", "--force", data=tmp_path)
    assert code == 2
    assert_error(err, str(file), f"{rows} rows", "146")
    assert (tmp_path / "glue.zip").read_text() == "what was there"


def test_a_malformed_line_of_qqp_keeps_its_place(
    in_process: InProcess, nine: dict[str, str], made: Path, few: None, tmp_path: Path
) -> None:
    """Its answer counts for nothing, those after it would be wrong if it had none."""
    file = write_test_set(tmp_path, "QQP.tsv", FEW)
    whole = in_process("submission", nine["qqp"], "-o", "whole.zip", "--fill-missing", data=tmp_path)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:4], lines[4] + "\tone field too many", *lines[5:]]) + "\n")
    filled = in_process("submission", nine["qqp"], "-o", "filled.zip", "--fill-missing", data=tmp_path)
    assert (whole[0], filled[0]) == (0, 0), filled[2]
    assert "1 malformed lines, first 5" in filled[2]
    before, after = (predictions_of(tmp_path / name)["QQP.tsv"] for name in ("whole.zip", "filled.zip"))
    assert before[:3] + before[4:] == after[:3] + after[4:]
    file.write_text("\n".join([*lines[:4], "broken", *lines[4:]]) + "\n")
    code, _, err = in_process("submission", nine["qqp"], "-o", "glue.zip", "--fill-missing", data=tmp_path)
    assert code == 2
    assert_error(err, f"{FEW + 1} rows", str(file), "1 malformed lines, first 5")


def test_two_runs_of_one_task_are_refused(
    in_process: InProcess, nine: dict[str, str], checkpoint: Checkpoint, made: Path
) -> None:
    other = checkpoint("wnli")
    code, _, err = in_process(
        "submission", nine["wnli"], nine["rte"], other, "-o", "glue.zip", "--fill-missing", data=made
    )
    assert code == 2
    assert_error(err, nine["wnli"], other, "wnli")


def test_a_task_without_a_run_and_a_model_without_a_task_are_named(
    in_process: InProcess, tiny_bert: Path, made: Path
) -> None:
    assert "mrpc" in in_process("submission", "mrpc", "-o", "glue.zip", data=made)[2]
    code, _, err = in_process("submission", str(tiny_bert), "-o", "glue.zip", data=made)
    assert code == 2
    assert "task" in err


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        ("nowhere/glue.zip", "cannot be written"),
        ("file/glue.zip", "cannot be written"),
        ("folder", "is not a regular file"),
    ],
)
def test_a_zip_that_cannot_be_written_is_said_before_anything_is_predicted(
    in_process: InProcess, tmp_path: Path, made: Path, output: str, fault: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    code, _, err = in_process("submission", "no-such-run", "-o", output, "--fill-missing", data=made)
    assert code == 2
    assert err.startswith(f"error: {output}: {fault}")
    assert len(err.splitlines()) == 1
    assert {file.name for file in tmp_path.iterdir()} == {"file", "folder"}
