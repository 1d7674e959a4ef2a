"""`finetune export`: a folder that answers as its run, or none at all."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess, assert_error
from support.runs import FinishedRun

import finetune
from finetune.commands.export import exporting
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.inference.export_facts import read_export_facts
from finetune.inference.predictor import load_predictor

for package in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(package)
pytestmark = pytest.mark.slow  # as in test_graph.py

KINDS = ("sentence", "regression", "multilabel", "tagging", "span", "choice")


@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.nightly) for kind in KINDS[1:])])
def test_an_export_answers_as_its_run(kind: str, finished_run: FinishedRun, tmp_path: Path) -> None:
    run = finished_run(kind)
    found = finetune.export(run, path=tmp_path / "exported")
    facts = read_export_facts(found.folder)
    assert facts.check == found.facts.check
    assert facts.check is not None
    assert facts.check.equal == facts.check.rows > 0
    assert 0 < facts.check.largest_difference < 1e-3
    assert (facts.source.run, facts.source.fingerprint) == (run.name, load_predictor(run).fingerprint)
    assert not list(found.folder.glob("*.safetensors"))
    assert not [file for file in tmp_path.iterdir() if file != found.folder]


def test_an_export_is_not_a_run_to_compare(copied_run: Any, tmp_path: Path, in_process: InProcess) -> None:
    run = copied_run("sentence")
    finetune.export(run, path=tmp_path / "small", out=run.parents[1])
    code, _, error = in_process("compare", str(run), "small", "--out", str(run.parents[1]), data="")
    assert code == 2
    assert_error(error, "small is an export, not a run", "export.json")


def test_int8_is_smaller_and_says_what_it_changed(
    finished_run: FinishedRun, tmp_path: Path, in_process: InProcess
) -> None:
    run = finished_run("sentence")
    code, out, error = in_process("export", str(run), "-o", "small", "--int8", "--tolerance", "100", "--json", data="")
    assert code == 0, error
    made = json.loads(out)
    facts = read_export_facts(tmp_path / "small")
    assert (facts.precision, facts.bits, facts.tolerance) == ("int8", 7, 100)
    assert facts.check is not None
    assert made["size"] < (run / "model" / "model.safetensors").stat().st_size
    assert len(facts.check.changed) == facts.check.rows - facts.check.equal
    scores = finetune.open_run(run).record.scores["dev"]
    assert facts.check.score is not None
    assert facts.check.score.run == pytest.approx(100 * scores[facts.check.score.metric])
    assert finetune.load(tmp_path / "small")("the cat sat").value == "good"


@pytest.mark.parametrize(("lost", "tolerance"), [(1.24, 0.5), (100 * (0.85 - 0.845), 0.5), (float("nan"), 100)])
def test_int8_that_loses_too_much_is_not_written(
    lost: float, tolerance: float, finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([{"macro f1": 0.85}, {"macro f1": 0.85 - lost / 100}])
    run = finished_run("sentence")
    task = type(load_predictor(run).task)
    monkeypatch.setattr(task, "score", lambda *_: next(scores))
    if lost > 0.5 + 1e-9 or lost != lost:
        with pytest.raises(UserError, match=r"int8 loses (1.24|nan) points of macro f1, .*tolerance. is"):
            finetune.export(run, path=tmp_path / "small", int8=True, tolerance=tolerance)
        assert not list(tmp_path.iterdir())
    else:
        assert finetune.export(run, path=tmp_path / "small", int8=True).facts.tolerance == 0.5


def test_a_graph_that_computes_something_else_is_not_written(
    finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = exporting.write_graph

    def wrong(model: Any, file: Path) -> None:
        model.head.output.bias.data[0] += 0.1
        write(model, file)

    monkeypatch.setattr(exporting, "write_graph", wrong)
    with pytest.raises(UserError, match=r"type .bert. does not compute the same: its logits differ by up to 0.1"):
        finetune.export(finished_run("sentence"), path=tmp_path / "exported")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_own_data_without_its_run_has_no_rows_to_check_with(
    kind: str, finished_run: FinishedRun, tmp_path: Path, in_process: InProcess
) -> None:
    shutil.copytree(finished_run(kind) / "model", tmp_path / "copied")
    code, _, error = in_process("export", "copied", data="")
    assert code == 2
    assert_error(error, "copied", "without its run", "finetune export RUN")
    assert [file.name for file in tmp_path.iterdir()] == ["copied"]


def test_a_full_disk_is_one_line_and_leaves_nothing(
    finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exporting, "write_graph", full)
    with pytest.raises(UserError, match=r"exported: cannot be written .No space left on device"):
        finetune.export(finished_run("sentence"), path=tmp_path / "exported")
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_force_deletes_nothing_that_is_not_of_an_export(
    finished_run: FinishedRun, tmp_path: Path, in_process: InProcess
) -> None:
    run, folder = finished_run("sentence"), tmp_path / "exported"
    finetune.export(run, path=folder)
    (folder / "mine.csv").write_text("mine")
    code, _, error = in_process("export", str(run), "-o", "exported", "--force", data="")
    assert code == 2
    assert_error(error, "mine.csv", "would be deleted")
    assert (folder / "mine.csv").read_text() == "mine"


@pytest.mark.nightly
def test_what_is_put_there_in_the_meantime_stays(
    finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, folder = exporting.checked_export, tmp_path / "exported"

    def meanwhile(*given: Any) -> Any:
        folder.mkdir()
        (folder / "mine.txt").write_text("mine")
        return checked(*given)

    monkeypatch.setattr(exporting, "checked_export", meanwhile)
    with pytest.raises(UserError, match="not an export"):
        finetune.export(finished_run("sentence"), path=folder)
    assert [file.name for file in tmp_path.rglob("*")] == ["exported", "mine.txt"]


@pytest.mark.nightly
def test_an_export_has_what_prediction_reads_alone(copied_run: FinishedRun, tmp_path: Path) -> None:
    model = copied_run("sentence") / "model"
    (model / "checkpoint-8").mkdir()
    for name in ("optimizer.pt", "checkpoint-8/optimizer.pt", "my notes.txt", "tf_model.h5"):
        (model / name).write_bytes(b"0")
    found = finetune.export(model.parent, path=tmp_path / "exported").folder
    names = {file.name for file in found.rglob("*")}
    assert names == {
        "README.md", "checksums.json", "config.json", "export.json", "model.onnx",
        "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip


@pytest.mark.nightly
def test_a_run_that_predicts_in_half_precision_is_compared_in_fp32(
    finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "computes_in", property(lambda _: ("cpu", "bf16")))
    (note,) = finetune.export(finished_run("sentence"), path=tmp_path / "exported").notes
    assert "in fp32" in note and note.endswith("in bf16")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--engine", "openvino"], ["'--engine' was taken out", "ONNX"]),
        (["--bits", "7"], ["'--bits' was taken out", "--int8"]),
        (["--keep-fp32", "ends"], ["'--keep-fp32' was taken out", "--tolerance"]),
        (["--tolerance", "1"], ["--tolerance", "--int8"]),
        (["--int8", "--tolerance", "-1"], ["--tolerance", "-1"]),
        (["-o", "missing/exported"], ["missing/exported", "no such folder"]),
        (["-o", "."], ["not an export"]),
    ],
)
def test_settings_that_do_not_fit_are_refused_before_anything_is_loaded(
    arguments: list[str], named: list[str], in_process: InProcess, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    code, _, error = in_process("export", "no-run", *arguments, data="")
    assert code == 2
    assert_error(error, *named)


def test_a_package_that_is_not_installed_is_named_with_its_extra(
    in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finetune.commands.export.find_spec", lambda name: None if name == "onnxscript" else 1)
    code, _, error = in_process("export", "no-run", data="")
    assert code == 2
    assert_error(error, "onnxscript", "bert-finetune[export]")


@pytest.mark.nightly
def test_a_run_without_weights_or_predictions_and_an_export_are_refused(
    copied_run: FinishedRun, tmp_path: Path
) -> None:
    run = copied_run("sentence")
    made = finetune.export(run, path=tmp_path / "exported")
    with pytest.raises(UserError, match="is an export"):
        finetune.export(made.folder, path=tmp_path / "again")
    (run / "predictions-dev.parquet").unlink()
    with pytest.raises(UserError, match="no predictions found"):
        finetune.export(run, path=tmp_path / "again")
    shutil.rmtree(run / "model")
    with pytest.raises(UserError, match="its model is missing"):
        finetune.export(run, path=tmp_path / "again")
    assert not (tmp_path / "again").exists()
