"""`finetune predict --coverage --risk --precision --label-sets`: what is left out, promised and refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.cli import InProcess
from support.runs import DATA, FinishedRun
from support.toys import tag_task

import finetune
from finetune.data.checksums import write_checksums
from finetune.inference.thresholds import FILE, claims_of, claims_with
from finetune.inference.unsure import Unsure
from finetune.runs.folder import RunFolder
from finetune.task_types.columns import Layout
from finetune.task_types.tagging.own import Tagging
from finetune.task_types.tagging.task import TaggingRow, TagsAnswer


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def with_claims(run: Path, model: Path, *, wrong: int, rows: int = 400) -> str:
    """A copy of a run's model with the claims of other dev rows, of which the least sure are wrong."""
    if not model.is_dir():
        shutil.copytree(run / "model", model)
    labels = ("good", "bad")
    claims = {
        "split": "dev", "rows": rows, "row": list(range(rows)), "label": [labels[i % len(labels)] for i in range(rows)],
        "confidence": np.linspace(1, 0.5, rows).tolist(), "right": [i < rows - wrong for i in range(rows)],
        "sets": [[0.3]] * rows, "errors": [], "chosen": "",
    }  # fmt: skip
    (model / FILE).write_text(json.dumps(claims))
    write_checksums(model)
    return str(model)


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


@pytest.mark.parametrize("kind", ["multilabel", "span", "choice"])
def test_label_sets_hold_values_as_predictions_are_written(
    kind: str, finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run(kind)
    file = run.parents[2] / DATA[kind][0]
    code, _, err = in_process(
        "predict", str(run), str(file), "--label-sets", "0.5", "-o", "out.jsonl", "--quiet", data=tmp_path
    )
    assert code == 0, err
    rows = lines_of(tmp_path / "out.jsonl")
    assert all(isinstance(row["label set"], list) for row in rows)
    assert all("unsure" not in row for row in rows)
    if kind != "multilabel":
        assert all(row["prediction"] in row["label set"] for row in rows if row["prediction"])
        assert rows[0]["prediction"] in (1, 2) or kind == "span"


@pytest.mark.slow
def test_parquet_has_texts_where_predictions_are_numbers_and_some_are_unsure(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run("choice")
    file = run.parents[2] / DATA["choice"][0]
    for name in ("out.parquet", "out.xlsx", "out.csv"):
        given = ("predict", str(run), str(file), "--coverage", "0.5", "--label-sets", "0.5", "-o", name, "--quiet")
        code, _, err = in_process(*given, data=tmp_path)
        assert code == 0, err
    cells = pq.read_table(tmp_path / "out.parquet").column("prediction").to_pylist()
    assert {str(cell) for cell in cells} <= {"1", "2", "unsure"}


def test_numbers_get_intervals_and_leave_nothing_out(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    given = ("predict", str(finished_run("regression")), str(finished_run("regression").parents[2] / "number.csv"))
    assert in_process(*given, "--label-sets", "0.5", "-o", "out.jsonl", "--quiet", data=tmp_path)[0] == 0
    rows = lines_of(tmp_path / "out.jsonl")
    assert np.ptp([row["high"] - row["low"] for row in rows]) < 1e-4
    assert all(row["low"] < row["prediction"] < row["high"] for row in rows)
    code, _, err = in_process(*given, "--risk", "0.1", data=tmp_path)
    assert (code, "`--label-sets` 0.95" in err) == (2, True)


def test_entities_are_left_out_one_by_one() -> None:
    task = tag_task()
    row = TaggingRow(id="1", words=("the", "cat", "of", "the", "big", "house"))
    tags = ["O", "B-ANIMAL", "O", "O", "B-PLACE", "I-PLACE"]
    answer = TagsAnswer(value=tags, probabilities=[1, 0.9, 1, 1, 0.8, 0.5])
    unsure = Unsure(claimed="entities", abstains=True, by_label={"PLACE": 0.6})
    cells = unsure.cells(task, task.labels, Tagging(), Layout(shape="tagging", text=("words",)), answer, row)
    assert cells["prediction"] == ["O", "B-ANIMAL", "O", "O", "O", "O"]
    assert [one["text"] for one in cells["entities"]] == ["cat"]
    assert [(one["text"], one["probability"]) for one in cells["unsure"]] == [("big house", 0.5)]
    kept, _ = unsure.answers(task, task.labels, [answer], [row])
    assert kept[0].value == cells["prediction"]


def test_a_run_has_its_claims_in_its_predictions_and_a_pushed_model_in_a_file(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run("sentence")
    (tmp_path / "new.csv").write_text("review\nthe cat sat\nthe dog sat\n")
    moved = shutil.copytree(run / "model", tmp_path / "moved")
    given = ("predict", "moved", "new.csv", "--coverage", "0.5", "-o", "out.jsonl", "--quiet")
    code, _, err = in_process(*given, data=tmp_path)
    assert (code, "no dev predictions with it" in err) == (2, True)
    claims = claims_of(RunFolder(run))
    assert claims is not None and not (run / "model" / FILE).is_file()
    (moved / FILE).write_text(claims.text())
    assert claims_with("moved", moved, out=tmp_path) == claims
    assert in_process(*given, data=tmp_path)[0] == 0
    (moved / FILE).write_text("[")
    assert "is damaged" in in_process(*given, data=tmp_path)[2]


def test_overlapping_spans_are_left_out_one_by_one(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run("overlapping")
    given = ("predict", str(run), str(run.parents[2] / DATA["overlapping"][0]))
    for share in ("0.3", "0.9"):
        code, _, err = in_process(*given, "--coverage", share, "-o", f"{share}.jsonl", "--quiet", data=tmp_path)
        assert code == 0 or "predicts no entities" in err, err


def test_what_cannot_be_promised_or_asked_is_one_line_with_a_way_out(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run("sentence")
    (tmp_path / "new.csv").write_text("review\nthe cat sat\n")

    def told(*options: str) -> str:
        code, out, err = in_process("predict", "moved", "new.csv", "--quiet", *options, data=tmp_path)
        assert (code, out) == (2, "")
        return " ".join(err.split())

    with_claims(run, tmp_path / "moved", wrong=50, rows=50)
    message = told("--risk", "0.05")
    assert "risk 5 % cannot be promised from 50 rows of dev: too few of the most confident are right to tell" in message
    assert "Ask for a coverage instead" in message
    with_claims(run, tmp_path / "moved", wrong=10, rows=50)
    message = told("--risk", "0.05")
    assert "about 75 are needed" in message
    advised = message.split("`--risk` ")[1].split(",")[0]
    assert in_process("predict", "moved", "new.csv", "--quiet", "--risk", advised, data=tmp_path)[0] == 0
    assert "Name one of good, bad" in told("--precision", "god=0.9")
    assert "Give LABEL=SHARE" in told("--precision", "good")
    assert "'risk' is 5" in told("--risk", "5")
    assert "one can be asked for" in told("--risk", "0.1", "--coverage", "0.5")
    assert "temperature=dev" in told("--risk", "0.1", "temperature=dev")
    with_claims(run, tmp_path / "moved", wrong=0, rows=10)
    assert "need 19 dev rows with a label, and there are 10. Ask for `--label-sets` 0.9" in told("--label-sets", "0.95")
    assert in_process("predict", "moved", "new.csv", "--quiet", "--label-sets", "0.9", data=tmp_path)[0] == 0


def test_python_and_evaluate_count_what_is_answered(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run("sentence")
    moved = with_claims(run, tmp_path / "moved", wrong=200)
    model = finetune.load(moved, device="cpu")
    texts = [f"the {animal} sat {number}" for number in range(20) for animal in ("cat", "dog")]
    plain, found = model.predict(texts), model.predict(texts, risk=0.1, label_sets=0.9)
    sure = [max(row["p(good)"], row["p(bad)"]) for row in plain]
    threshold = 1 - 0.5 * 199 / 399  # of the first 200, and of as many wrong ones as the bound allows
    assert {row["prediction"] == "unsure" for row, p in zip(found, sure, strict=True) if p < threshold - 0.05} <= {True}
    assert {row["prediction"] == "unsure" for row, p in zip(found, sure, strict=True) if p >= threshold} <= {False}
    (tmp_path / "held.csv").write_text("review,mark\n" + "".join(f"{text},good\n" for text in texts))
    one = finetune.evaluate(moved, tmp_path / "held.csv", precision={"good": 0.9}).answered["dev"]
    assert one["answered"] + one["unsure"] == len(texts)
    (tmp_path / "many.jsonl").write_text(
        '{"text": "the cat 1", "labels": ["a"]}\n' + '{"text": "x", "labels": []}\n' * 30
    )
    sets = finetune.evaluate(str(finished_run("multilabel")), tmp_path / "many.jsonl", label_sets=0.6).answered
    assert [found["labelled"] for found in sets.values()] == [1]  # a row without labels holds none of them
    code, out, _ = in_process("evaluate", "moved", "held.csv", "--coverage", "0.5", "--quiet", data=tmp_path)
    assert (code, "held.csv: " in out, " of 40 rows answered (" in out, "dev: " in out) == (0, True, True, False)
