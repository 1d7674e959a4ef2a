"""GLUE's submission: eleven official files in one zip, complete, in order, spelled as the server reads them."""

from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.glue import FEW, OFFICIAL, Checkpoint, predictions_of, write_test_set

from finetune.data.source import Source
from finetune.inference import predictor
from finetune.task_types.registry import find

SAME = dict(zip(*2 * [("entailment", "not_entailment", "neutral", "contradiction")], strict=True))
SPELLED = {  # file, and how its labels are spelled
    "cola": ("CoLA.tsv", {"unacceptable": "0", "acceptable": "1"}),
    "sst2": ("SST-2.tsv", {"negative": "0", "positive": "1"}),
    "mrpc": ("MRPC.tsv", {"not_equivalent": "0", "equivalent": "1"}),
    "wnli": ("WNLI.tsv", {"not_entailment": "0", "entailment": "1"}),
    "qqp": ("QQP.tsv", {"not_duplicate": "0", "duplicate": "1"}),
    "rte": ("RTE.tsv", SAME),
    "qnli": ("QNLI.tsv", SAME),
}


@pytest.mark.slow
def test_nine_runs_make_eleven_files_with_their_answers_row_by_row(
    in_process: InProcess, nine: dict[str, str], made: Path, few: None, tmp_path: Path
) -> None:
    code, out, err = in_process("submission", *nine.values(), "-o", "glue.zip", data=made)
    assert (code, "a constant" in out) == (0, False), err
    found, source = predictions_of(tmp_path / "glue.zip"), Source(folder=made)
    assert {name: len(lines) for name, lines in found.items()} == {name: min(n, FEW) for name, n in OFFICIAL.items()}
    for task, (file, spelled) in SPELLED.items():
        answers = predictor.load_predictor(nine[task], device="cpu").answers(find(task).load(source, "test").rows)
        assert found[file] == [spelled[answer.value] for answer in answers], file
    model = predictor.load_predictor(nine["mnli"], device="cpu")
    for file, task, split in (("AX", "ax", "test"), ("MNLI-m", "mnli", "test"), ("MNLI-mm", "mnli", "test-mismatched")):
        answers = model.answers(find(task).load(source, split).rows)
        assert found[f"{file}.tsv"] == [answer.value for answer in answers], file
    assert all(0 <= float(score) <= 5 and len(score) == 5 for score in found["STS-B.tsv"])


@pytest.mark.parametrize(("bias", "inside"), [(1000.0, 0), (-1000.0, 0), (2.5, 0.7)])
def test_scores_are_those_of_the_model_clipped_to_0_and_5(
    in_process: InProcess, checkpoint: Checkpoint, made: Path, few: None, tmp_path: Path, bias: float, inside: float
) -> None:
    run = checkpoint("stsb", bias=bias)
    assert in_process("submission", run, "-o", "glue.zip", "--fill-missing", data=made)[0] == 0
    answers = predictor.load_predictor(run, device="cpu").answers(find("stsb").load(Source(folder=made), "test").rows)
    assert sum(0 <= answer.value <= 5 for answer in answers) >= inside * FEW
    found = [float(score) for score in predictions_of(tmp_path / "glue.zip")["STS-B.tsv"]]
    assert found == pytest.approx([min(5, max(0, answer.value)) for answer in answers], abs=6e-4)


@pytest.mark.slow
def test_missing_runs_are_filled_with_constants(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path
) -> None:
    code, _, err = in_process("submission", nine["wnli"], "-o", "a.zip", "--fill-missing", data=made)
    assert code == 0, err
    found = predictions_of(tmp_path / "a.zip")
    assert {name: len(lines) for name, lines in found.items()} == OFFICIAL
    numbers, named = {"CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "QQP.tsv"}, {"MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"}
    wanted = {name: {"0"} for name in numbers} | {name: {"entailment"} for name in named | {"QNLI.tsv", "RTE.tsv"}}
    wanted |= {"STS-B.tsv": {"2.500"}, "WNLI.tsv": {"0", "1"}}
    assert {name: set(lines) for name, lines in found.items()} == wanted


@pytest.mark.parametrize("rows", [145, 147])
def test_other_numbers_of_rows_are_errors(
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
    command = ("submission", nine["qqp"], "--fill-missing", "-o")
    assert in_process(*command, "whole.zip", data=tmp_path)[0] == 0
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:4], lines[4] + "\tone field too many", *lines[5:]]) + "\n")
    code, _, err = in_process(*command, "filled.zip", data=tmp_path)
    assert (code, "1 malformed lines, first 5" in err) == (0, True), err
    before, after = (predictions_of(tmp_path / name)["QQP.tsv"] for name in ("whole.zip", "filled.zip"))
    assert before[:3] + before[4:] == after[:3] + after[4:]
    file.write_text("\n".join([*lines[:4], "broken", *lines[4:]]) + "\n")
    code, _, err = in_process(*command, "glue.zip", data=tmp_path)
    assert code == 2
    assert_error(err, f"{FEW + 1} rows", str(file), "first 5")
