"""GLUE's submission: eleven official files in one zip, complete, in order, spelled as the server reads them."""

import hashlib
from pathlib import Path

import pytest
from support.cli import InProcess
from support.glue import FEW, OFFICIAL, Checkpoint, predictions_of

import finetune
from finetune.commands import submission
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference import predictor
from finetune.task_types.registry import find


def test_nine_runs_make_eleven_files(
    in_process: InProcess, nine: dict[str, str], made: Path, few: None, tmp_path: Path
) -> None:
    code, out, err = in_process("submission", *nine.values(), "-o", "glue.zip", data=made)
    assert code == 0, err
    assert "a constant" not in out
    found = predictions_of(tmp_path / "glue.zip")
    assert {name: len(lines) for name, lines in found.items()} == {
        name: min(rows, FEW) for name, rows in OFFICIAL.items()
    }
    three = {"entailment", "neutral", "contradiction"}
    wanted = {name: {"0", "1"} for name in ("CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "QQP.tsv", "WNLI.tsv")}
    wanted |= {name: {"entailment", "not_entailment"} for name in ("QNLI.tsv", "RTE.tsv")}
    wanted |= dict.fromkeys(("MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"), three)
    assert {name: set(found[name]) for name in wanted} == wanted
    assert all(0 <= float(score) <= 5 and len(score) == 5 for score in found["STS-B.tsv"])
    assert len(set(found["STS-B.tsv"])) > FEW / 2


@pytest.mark.parametrize(
    ("task", "name", "place", "spelled"),
    [
        ("cola", "CoLA.tsv", "CoLA", {"unacceptable": "0", "acceptable": "1"}),
        ("sst2", "SST-2.tsv", "SST-2", {"negative": "0", "positive": "1"}),
        ("mrpc", "MRPC.tsv", "MRPC", {"not_equivalent": "0", "equivalent": "1"}),
        ("wnli", "WNLI.tsv", "WNLI", {"not_entailment": "0", "entailment": "1"}),
        ("qqp", "QQP.tsv", "QQP", {"not_duplicate": "0", "duplicate": "1"}),
        ("rte", "RTE.tsv", "RTE", {"entailment": "entailment", "not_entailment": "not_entailment"}),
    ],
)
def test_the_files_hold_the_models_answers_row_by_row(
    in_process: InProcess,
    nine: dict[str, str],
    made: Path,
    few: None,
    tmp_path: Path,
    task: str,
    name: str,
    place: str,
    spelled: dict[str, str],
) -> None:
    code, _, err = in_process("submission", nine[task], "-o", "glue.zip", "--fill-missing", data=made)
    assert code == 0, err
    model = predictor.load_predictor(nine[task], device="cpu")
    rows = find(task).load(Source(folder=made), "test").rows
    assert predictions_of(tmp_path / "glue.zip")[name] == [spelled[answer.value] for answer in model.answers(rows)]


def test_the_diagnostic_set_is_answered_by_the_mnli_run(
    in_process: InProcess, nine: dict[str, str], made: Path, few: None, tmp_path: Path
) -> None:
    code, out, err = in_process("submission", nine["mnli"], "-o", "glue.zip", "--fill-missing", data=made)
    assert code == 0, err
    source, found = Source(folder=made), predictions_of(tmp_path / "glue.zip")
    model = predictor.load_predictor(nine["mnli"], device="cpu")
    for name, task, split in (
        ("AX.tsv", "ax", "test"),
        ("MNLI-m.tsv", "mnli", "test"),
        ("MNLI-mm.tsv", "mnli", "test-mismatched"),
    ):
        rows = find(task).load(source, split).rows
        assert found[name] == [answer.value for answer in model.answers(rows)]
    assert found["MNLI-m.tsv"] != found["MNLI-mm.tsv"]
    assert out.count("predicted by") == 3


@pytest.mark.slow
def test_missing_runs_are_filled_with_constants_that_are_listed(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path
) -> None:
    code, out, err = in_process("submission", nine["wnli"], "-o", "glue.zip", "--fill-missing", data=made)
    assert code == 0, err
    found = predictions_of(tmp_path / "glue.zip")
    assert {name: len(lines) for name, lines in found.items()} == OFFICIAL
    numbers, named = {"CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "QQP.tsv"}, {"MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"}
    wanted = {name: {"0"} for name in numbers} | {name: {"entailment"} for name in named | {"QNLI.tsv", "RTE.tsv"}}
    wanted["STS-B.tsv"] = {"2.500"}
    assert {name: set(lines) for name, lines in found.items() if name != "WNLI.tsv"} == wanted
    assert set(found["WNLI.tsv"]) == {"0", "1"}
    listed = {name: line for line in out.splitlines() for name in OFFICIAL if f" {name} " in line}
    assert {name for name, line in listed.items() if "constant" in line} == set(OFFICIAL) - {"WNLI.tsv"}
    assert "predicted by" in listed["WNLI.tsv"]


@pytest.mark.parametrize(("bias", "score"), [(1000.0, "5.000"), (-1000.0, "0.000")])
def test_scores_are_clipped(
    in_process: InProcess, checkpoint: Checkpoint, made: Path, few: None, tmp_path: Path, bias: float, score: str
) -> None:
    run = checkpoint("stsb", bias=bias)
    code, _, err = in_process("submission", run, "-o", "glue.zip", "--fill-missing", data=made)
    assert code == 0, err
    assert set(predictions_of(tmp_path / "glue.zip")["STS-B.tsv"]) == {score}


def test_scores_inside_are_the_models(
    in_process: InProcess, checkpoint: Checkpoint, made: Path, few: None, tmp_path: Path
) -> None:
    run = checkpoint("stsb", bias=2.5)
    in_process("submission", run, "-o", "glue.zip", "--fill-missing", data=made)
    rows = find("stsb").load(Source(folder=made), "test").rows
    values = [answer.value for answer in predictor.load_predictor(run, device="cpu").answers(rows)]
    found = [float(score) for score in predictions_of(tmp_path / "glue.zip")["STS-B.tsv"]]
    inside = [index for index, value in enumerate(values) if 0 <= value <= 5]
    assert len(inside) > 0.7 * FEW
    assert [found[index] for index in inside] == pytest.approx([values[index] for index in inside], abs=6e-4)


def test_equal_answers_give_equal_bytes(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = set()
    for name, moment in (("a.zip", 1e9), ("b.zip", 1.5e9)):
        monkeypatch.setattr("time.time", lambda moment=moment: moment)
        assert in_process("submission", nine["wnli"], "-o", name, "--fill-missing", data=made)[0] == 0
        hashes.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(hashes) == 1


@pytest.mark.slow
def test_large_sets_are_predicted_in_parts_that_are_in_order(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_process("submission", nine["wnli"], "-o", "a.zip", "--fill-missing", data=made)
    monkeypatch.setattr(submission, "ROWS_AT_ONCE", 50)
    in_process("submission", nine["wnli"], "-o", "b.zip", "--fill-missing", data=made)
    assert predictions_of(tmp_path / "a.zip") == predictions_of(tmp_path / "b.zip")


@pytest.mark.slow
def test_the_real_test_sets_are_answered_whole(
    in_process: InProcess, nine: dict[str, str], real_data: Path, tmp_path: Path
) -> None:
    given = [nine[task] for task in ("cola", "sst2", "mrpc", "stsb", "wnli")]
    code, out, err = in_process("submission", *given, "-o", "glue.zip", "--fill-missing", data=real_data)
    assert code == 0, err
    found = predictions_of(tmp_path / "glue.zip")
    assert {name: len(lines) for name, lines in found.items()} == OFFICIAL
    assert out.count("predicted by") == 5
    assert len(set(found["STS-B.tsv"])) > 100


@pytest.mark.slow
def test_the_function_writes_what_the_command_writes(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path
) -> None:
    assert in_process("submission", nine["wnli"], "-o", "a.zip", "--fill-missing", data=made)[0] == 0
    file = tmp_path / "b.zip"
    found = finetune.submission(nine["wnli"], path=file, fill_missing=True, data_folder=made)
    assert predictions_of(file) == predictions_of(tmp_path / "a.zip")
    assert {name for name, run in found.items() if run} == {"WNLI.tsv"}
    with pytest.raises(UserError, match="`fill_missing`"):
        finetune.submission(nine["wnli"], path=file, data_folder=made)
