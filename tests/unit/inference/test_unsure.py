"""`finetune predict --coverage --risk`: what is left out, promised and refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.cli import InProcess
from support.runs import DATA, FinishedRun

import finetune
from finetune.inference import unsure


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def with_dev(monkeypatch: pytest.MonkeyPatch, *, wrong: int, rows: int = 400) -> None:
    """Other dev rows, of which the least sure are wrong."""
    monkeypatch.setattr(
        unsure, "dev_confidence", lambda *_: (np.linspace(1, 0.5, rows), np.arange(rows) < rows - wrong)
    )


@pytest.mark.parametrize("kind", ["sentence", "multilabel", "tagging", "span", "choice"])
def test_every_type_leaves_out_the_rows_that_it_is_not_sure_of(
    kind: str, finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run(kind)
    file = run.parents[2] / DATA[kind][0]
    given = ("--coverage", "0.5", "-o", "out.jsonl", "--json", "--quiet")
    code, out, err = in_process("predict", str(run), str(file), *given, data=tmp_path)
    assert code == 0, err
    facts, rows = json.loads(out), lines_of(tmp_path / "out.jsonl")
    left_out = [row for row in rows if row.get("unsure") is not None]
    assert facts["unsure"] == len(left_out)
    assert all(row["prediction"] in ("unsure", None) for row in left_out)
    assert not any(row["prediction"] == "unsure" for row in rows if row.get("unsure") is None)
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


def test_what_cannot_be_promised_or_asked_is_one_line_with_a_way_out(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished_run("sentence")
    (tmp_path / "new.csv").write_text("review\nthe cat sat\n")

    def told(*options: str) -> str:
        code, out, err = in_process("predict", str(run), "new.csv", "--quiet", *options, data=tmp_path)
        assert (code, out) == (2, "")
        return " ".join(err.split())

    with_dev(monkeypatch, wrong=50, rows=50)
    message = told("--risk", "0.05")
    assert "risk 5 % cannot be promised from 50 rows of dev" in message
    assert "ask for a coverage" in message
    with_dev(monkeypatch, wrong=10, rows=50)
    message = told("--risk", "0.05")
    advised = message.split("`--risk` ")[1].split(",")[0]
    assert in_process("predict", str(run), "new.csv", "--quiet", "--risk", advised, data=tmp_path)[0] == 0
    assert "'risk' is 5" in told("--risk", "5")
    assert "one can be asked for" in told("--risk", "0.1", "--coverage", "0.5")
    assert "is not a run" in " ".join(
        in_process("predict", str(run / "model"), "new.csv", "--risk", "0.1", data=tmp_path)[2].split()
    )


def test_python_leaves_out_and_predict_counts_what_is_answered(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished_run("sentence")
    with_dev(monkeypatch, wrong=200)
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
