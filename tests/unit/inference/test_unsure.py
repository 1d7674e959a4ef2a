"""`finetune predict --coverage --risk`: what is left out, promised and refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.cli import InProcess
from support.runs import DATA, FinishedRun
from support.toys import tag_task

import finetune
from finetune.inference import unsure
from finetune.inference.unsure import DevClaims, Unsure
from finetune.task_types.columns import Layout
from finetune.task_types.predictions import DecisionRow, Decisions
from finetune.task_types.tagging.own import Tagging
from finetune.task_types.tagging.task import TaggingRow, TagsAnswer


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def with_claims(monkeypatch: pytest.MonkeyPatch, *, wrong: int, rows: int = 400) -> None:
    """Claims of other dev rows, of which the least sure are wrong."""
    sure = np.linspace(1, 0.5, rows)
    decisions = [DecisionRow(i, "good", "good", i < rows - wrong, sure[i]) for i in range(rows)]
    claims = DevClaims(split="dev", rows=rows, decisions=Decisions.made(decisions))
    monkeypatch.setattr(unsure, "claims_of", lambda _: claims)


UNSURE_CELL = {  # task type: what the column holds where something is left out
    "sentence": str,
    "multilabel": list,
    "span": str,
    "choice": int,
}


@pytest.mark.parametrize("kind", list(UNSURE_CELL))
def test_every_type_leaves_out_what_it_is_not_sure_of(
    kind: str, finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run(kind)
    file = run.parents[2] / DATA[kind][0]
    code, out, err = in_process(
        "predict", str(run), str(file), "--coverage", "0.5", "-o", "out.jsonl", "--json", "--quiet", data=tmp_path
    )
    assert code == 0, err
    facts, rows = json.loads(out), lines_of(tmp_path / "out.jsonl")
    cells = [row["unsure"] for row in rows if row.get("unsure") not in (None, [])]
    assert all(isinstance(cell, UNSURE_CELL[kind]) for cell in cells)
    assert facts["unsure"] == sum(len(cell) if isinstance(cell, list) else 1 for cell in cells)
    if UNSURE_CELL[kind] is not list:
        assert [row.get("unsure") is not None for row in rows] == [row["prediction"] == "unsure" for row in rows]
    assert any("coverage 50 %" in note for note in facts["notes"])


@pytest.mark.slow
def test_parquet_has_texts_where_predictions_are_numbers_and_some_are_unsure(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run("choice")
    file = run.parents[2] / DATA["choice"][0]
    for name in ("out.parquet", "out.xlsx", "out.csv"):
        given = ("predict", str(run), str(file), "--coverage", "0.5", "-o", name, "--quiet")
        code, _, err = in_process(*given, data=tmp_path)
        assert code == 0, err
    cells = pq.read_table(tmp_path / "out.parquet").column("prediction").to_pylist()
    assert {str(cell) for cell in cells} <= {"1", "2", "unsure"}


def test_numbers_have_no_confidence(finished_run: FinishedRun, in_process: InProcess, tmp_path: Path) -> None:
    given = ("predict", str(finished_run("regression")), str(finished_run("regression").parents[2] / "number.csv"))
    code, _, err = in_process(*given, "--risk", "0.1", data=tmp_path)
    assert (code, "with a confidence" in err) == (2, True)


def test_entities_are_left_out_one_by_one() -> None:
    task = tag_task()
    row = TaggingRow(id="1", words=("the", "cat", "of", "the", "big", "house"))
    tags = ["O", "B-ANIMAL", "O", "O", "B-PLACE", "I-PLACE"]
    answer = TagsAnswer(value=tags, probabilities=[1, 0.9, 1, 1, 0.8, 0.5])
    sure = Unsure(claimed="entities", threshold=0.6)
    cells = sure.cells(task, task.labels, Tagging(), Layout(shape="tagging", text=("words",)), answer, row)
    assert cells["prediction"] == ["O", "B-ANIMAL", "O", "O", "O", "O"]
    assert [one["text"] for one in cells["entities"]] == ["cat"]
    assert [(one["text"], one["probability"]) for one in cells["unsure"]] == [("big house", 0.5)]


def test_overlapping_spans_are_left_out_one_by_one(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run("overlapping")
    given = ("predict", str(run), str(run.parents[2] / DATA["overlapping"][0]))
    for share in ("0.3", "0.9"):
        code, _, err = in_process(*given, "--coverage", share, "-o", f"{share}.jsonl", "--quiet", data=tmp_path)
        assert code == 0 or "predicts no entities" in err, err


def test_what_cannot_be_promised_or_asked_is_one_line_with_a_way_out(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished_run("sentence")
    (tmp_path / "new.csv").write_text("review\nthe cat sat\n")

    def told(*options: str) -> str:
        code, out, err = in_process("predict", str(run), "new.csv", "--quiet", *options, data=tmp_path)
        assert (code, out) == (2, "")
        return " ".join(err.split())

    with_claims(monkeypatch, wrong=50, rows=50)
    assert "risk 5 % cannot be promised from 50 rows of dev" in told("--risk", "0.05")
    assert "'risk' is 5" in told("--risk", "5")
    assert "one can be asked for" in told("--risk", "0.1", "--coverage", "0.5")
    assert "is not a run" in " ".join(
        in_process("predict", str(run / "model"), "new.csv", "--risk", "0.1", data=tmp_path)[2].split()
    )


def test_python_leaves_out_and_predict_counts_what_is_answered(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished_run("sentence")
    with_claims(monkeypatch, wrong=200)
    model = finetune.load(run, device="cpu")
    texts = [f"the {animal} sat {number}" for number in range(20) for animal in ("cat", "dog")]
    plain, found = model.predict(texts), model.predict(texts, risk=0.1)
    sure = [max(row["p(good)"], row["p(bad)"]) for row in plain]
    threshold = 1 - 0.5 * 199 / 399  # of the first 200, and of as many wrong ones as the bound allows
    assert {row["prediction"] == "unsure" for row, p in zip(found, sure, strict=True) if p < threshold - 0.05} <= {True}
    assert {row["prediction"] == "unsure" for row, p in zip(found, sure, strict=True) if p >= threshold} <= {False}
    (tmp_path / "held.csv").write_text("review,mark\n" + "".join(f"{text},good\n" for text in texts))
    given = ("predict", str(run), "held.csv", "--coverage", "0.5", "--json", "--quiet", "-o", "out.csv")
    code, out, err = in_process(*given, data=tmp_path)
    assert code == 0, err
    assert 0 <= json.loads(out)["unsure"] <= len(texts)
