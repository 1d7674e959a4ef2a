"""Runs, comparisons, findings, tables and scores as objects: attributes, tables, and escaped HTML."""

import json
from pathlib import Path

import pandas as pd
import pytest
from support.cli import InProcess
from support.paths import ROOT
from support.runs import REVIEWS, FinishedRun, trained_run

import finetune
from finetune.commands.compare import as_json

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def run(reviews: Path) -> finetune.Run:
    return finetune.open_run(reviews)


def test_a_run_is_opened_by_its_folder_id_task_and_data(reviews: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(reviews.parents[2])
    for name in (reviews, reviews.name, "reviews.csv"):
        assert finetune.open_run(name).folder.samefile(reviews)
    with pytest.raises(finetune.UserError, match="'nothing' names no finished run"):
        finetune.open_run("nothing")


def test_a_run_shows_its_score_and_baselines(run: finetune.Run) -> None:
    assert f"{run.id}, dev macro f1" in repr(run)
    assert "tfidf-logistic" in set(run.scores["method"])
    assert run.predictions.loc[0, "gold"] in ("bad", "good")


def test_a_report_is_written_and_its_path_returned(run: finetune.Run, tmp_path: Path) -> None:
    file = run.report(tmp_path / "one.html")
    assert run.id in file.read_text(encoding="utf-8")
    assert finetune.report(run, path=tmp_path / "two.html").is_file()


def test_a_comparison_is_that_of_the_command(
    reviews: Path, tiny_bert: Path, tmp_path: Path, in_process: InProcess
) -> None:
    data = reviews.parents[2] / "reviews.csv"
    folder = trained_run(tmp_path, data, tiny_bert, seed=7)
    a, b = finetune.open_run(reviews), finetune.open_run(folder)
    found = finetune.compare(a, b)
    assert ([*found.a], [*found.b], found.rows) == ([a.id], [b.id], a.record.rows["dev"])
    assert list(found.frame["metric"]) == ["macro f1", "accuracy"]
    assert f"p {next(iter(found.differences.values())).p:.4f}" in repr(found)
    for seeds in (False, True):  # those of the runs' own folders, wherever the command is given
        given = finetune.compare(reviews, folder, seeds=seeds)
        command = ["compare", str(reviews), str(folder), "--json", *["--seeds"] * seeds]
        assert json.loads(in_process(*command, data="")[1]) == json.loads(json.dumps(next(as_json(given)), default=str))
    assert finetune.compare(reviews, folder).frame.equals(found.frame)
    with pytest.raises(finetune.UserError, match="same run"):
        finetune.compare(a, a)


def test_findings_of_a_frame_speak_of_the_data(tmp_path: Path) -> None:
    rows = pd.DataFrame([*REVIEWS, REVIEWS[0], ("", "good")], columns=["review", "mark"])
    found = finetune.check(rows)
    assert found.counts["warning"] + found.counts["error"] >= 1
    assert set(found.frame["file"]) == {"the data"}
    assert not [text for text in found.frame["what"] if "parquet" in text]
    assert "warning" in repr(found)
    assert found.fix(tmp_path / "fixed.csv")
    assert len(pd.read_csv(tmp_path / "fixed.csv")) < len(rows)
    with pytest.raises(finetune.UserError, match="the data: has no column 'stars'"):
        finetune.check(rows, label="stars")
    file = tmp_path / "reviews.csv"
    rows.to_csv(file, index=False)
    of_file = finetune.check(file)
    assert list(of_file.frame["code"]) == list(found.frame["code"])
    assert set(of_file.frame["file"]) == {str(file)}


def test_a_table_of_records_is_a_frame() -> None:
    found = finetune.table("glue", out=ROOT / "results")
    assert "MRPC" in set(found.frame["row"])
    assert found.note == ""
    with pytest.raises(finetune.UserError, match="glu"):
        finetune.table("glu")


def test_a_model_is_evaluated_on_rows_and_files(run: finetune.Run, reviews: Path) -> None:
    file = reviews.parents[2] / "reviews.csv"
    rows = pd.read_csv(file)
    for model in (run, run.model, reviews):
        found = finetune.evaluate(model, rows)
        assert found.scores == finetune.evaluate(model, file).scores
    assert 0 < found.scores["dev"]["accuracy"] <= 1
    assert found.frame.loc[0, "metric"] == "macro f1"
    assert any("training" in note for note in finetune.evaluate(run, file).notes)
    with pytest.raises(finetune.UserError, match=r"the data: has no column 'review'.*text=body"):
        finetune.evaluate(run, rows.rename(columns={"review": "body"}))
    other = rows.rename(columns={"review": "body", "mark": "stars"})
    assert finetune.evaluate(run, other, text="body", label=["stars"]).scores == finetune.evaluate(run, rows).scores


def test_a_model_is_scored_on_a_task_of_a_data_folder(
    finished_run: FinishedRun, in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished_run("rte")
    data = run.parents[2] / "data"
    found = finetune.evaluate(run, "rte", data_folder=data, device="cpu")
    told = json.loads(in_process("evaluate", str(run), "rte", "--json", data=data)[1])
    assert found.scores | {"shared": found.shared} == told  # its dev has texts of train
    monkeypatch.delenv("FINETUNE_DATA")
    with pytest.raises(finetune.UserError, match="`data_folder`"):
        finetune.evaluate(run, "rte", data_folder=data / "nowhere")
