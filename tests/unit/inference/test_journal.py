"""A prediction that was interrupted is resumed, and only where it is the same; what a model is not sure of."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.cli import InProcess
from support.predicted_files import predict, read, written
from support.runs import DATA, REVIEWS, FinishedRun, LoadedRun

import finetune
from finetune.errors import UserError
from finetune.inference import answer_rows, unsure
from finetune.inference import predict_file as predicting
from finetune.inference.predict_file import predict_file
from finetune.inference.predictor import Predictor
from finetune.runs.events import Event, RowsPredicted

TEXTS = [f"{text} {'the cat sat on it ' * (i % 9)}" for i, (text, _) in enumerate(REVIEWS * 3)]  # of many lengths


def interrupted(predictor: Predictor, path: Path, output: Path, *, after: int) -> Path:
    """The journal of an attempt that was stopped after so many rows."""

    def stopped(event: Event) -> None:
        if isinstance(event, RowsPredicted) and event.done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(predictor, path, output, options={}, watch=stopped)
    return output.with_name(f".{output.name}.part.jsonl")


@pytest.fixture
def reviews_file(tmp_path: Path) -> Path:
    return written(tmp_path / "new.csv", [("review",), *((text,) for text in TEXTS)])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_resumed_prediction_is_the_same_byte_by_byte(
    reviewer: Predictor, reviews_file: Path, tmp_path: Path, suffix: str
) -> None:
    """The journal is cut at any byte: in its first line, in a window, and in the line that ends one."""
    whole, output = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    predict(reviewer, reviews_file, whole)
    journal = interrupted(reviewer, reviews_file, output, after=192).read_bytes()
    ends = [match.end() for match in re.finditer(rb"^\[.*\n", journal, re.MULTILINE)]
    cuts = [0, 5, *(end + more for end in ends for more in (-70, -1, 0, 9) if end + more <= len(journal))]
    for cut in cuts:
        part = output.with_name(f".{output.name}.part.jsonl")
        part.write_bytes(journal[:cut])
        found = predict(reviewer, reviews_file, output)
        before = sum(end <= cut for end in ends)
        assert (found.resumed, found.rows) == ([0, 64, 192][before], 240)
        assert output.read_bytes() == whole.read_bytes()
        assert any("predicted again" in note for note in found.notes) == (cut not in (0, 5, *ends))
        assert not list(tmp_path.glob(".out*"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["regression", "multilabel", "tagging", "intent", "overlapping", "span", "choice"])
def test_every_task_type_resumes_the_same(kind: str, loaded_run: LoadedRun, tmp_path: Path) -> None:
    name, content, _ = DATA[kind]
    rows = content.splitlines(keepends=True)
    header = rows[:1] if name.endswith(".csv") else []
    data = tmp_path / name
    data.write_text("".join([*header, *rows[len(header) :] * 9]))
    predict(loaded_run(kind), data, tmp_path / "whole.jsonl")
    interrupted(loaded_run(kind), data, tmp_path / "out.jsonl", after=64)
    assert predict(loaded_run(kind), data, tmp_path / "out.jsonl").resumed == 64
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_damaged_journal_gives_no_wrong_row(reviewer: Predictor, reviews_file: Path, tmp_path: Path) -> None:
    whole, output = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    predict(reviewer, reviews_file, whole)
    part = interrupted(reviewer, reviews_file, output, after=192)
    journal = part.read_bytes()
    windows = [0, *[match.end() for match in re.finditer(rb"\n", journal)][1:]]
    random = Random(0)
    for place in [10, *(random.randrange(len(journal)) for _ in range(8)), *(end - 2 for end in windows[1:])]:
        damaged = bytearray(journal)
        damaged[place] ^= 1 << random.randrange(7)
        part.write_bytes(damaged)
        found = predict(reviewer, reviews_file, output)
        assert output.read_bytes() == whole.read_bytes(), place
        assert found.resumed == [0, 64, 192][max(0, sum(end <= place for end in windows) - 1)]
        assert any("predicted again" in note for note in found.notes)


@pytest.mark.parametrize("what", ["versions", "device", "file"])
def test_a_journal_of_other_numbers_is_not_reused(
    reviewer: Predictor, reviews_file: Path, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(reviewer, reviews_file, tmp_path / "out.csv", after=64)
    if what == "versions":
        monkeypatch.setattr(predicting, "versions", lambda: {"torch": "0.1"})
    elif what == "device":
        monkeypatch.setattr(type(reviewer.engine.accelerator), "mixed_precision", "other")
    else:
        written(reviews_file, [("review",), *((text,) for text in TEXTS[:-1])])
    found = predict(reviewer, reviews_file, tmp_path / "out.csv")
    assert found.resumed == 0
    assert any("of another file, model, version or device" in note for note in found.notes)


def test_windows_and_a_thread_that_reads_ahead_change_no_answer(
    reviewer: Predictor, reviews_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predict(reviewer, reviews_file, tmp_path / "one.csv")
    monkeypatch.setattr(type(reviewer.engine), "overlaps", True)
    monkeypatch.setattr(answer_rows, "FIRST_WINDOW", 3)
    monkeypatch.setattr(answer_rows, "WINDOW", 7)
    predict(reviewer, reviews_file, tmp_path / "two.csv")
    one, two = read(tmp_path / "one.csv"), read(tmp_path / "two.csv")
    assert [line["prediction"] for line in two] == [line["prediction"] for line in one]
    assert [line["review"] for line in two] == TEXTS


def test_two_at_one_output_do_not_spoil_it(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("review",), ("the cat sat",)])

    def second(event: Event) -> None:
        if isinstance(event, RowsPredicted):
            with pytest.raises(UserError, match="another process"):
                predict(reviewer, path, tmp_path / "out.csv")

    predict_file(reviewer, path, tmp_path / "out.csv", options={}, watch=second)
    assert read(tmp_path / "out.csv")[0]["prediction"] == "good"


@pytest.mark.parametrize("kind", ["sentence", "multilabel", "tagging", "span", "choice"])
def test_every_type_leaves_out_the_rows_that_it_is_not_sure_of(
    kind: str, finished_run: FinishedRun, in_process: InProcess, tmp_path: Path
) -> None:
    run = finished_run(kind)
    typed = ["predict", str(run), str(run.parents[2] / DATA[kind][0]), "--coverage", "0.5", "--json", "--quiet"]
    code, out, err = in_process(*typed, "-o", "out.jsonl", data=tmp_path)
    assert code == 0, err
    facts, rows = json.loads(out), [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    left_out = [row for row in rows if row.get("unsure") is not None]
    assert facts["unsure"] == len(left_out)
    assert all(row["prediction"] in ("unsure", None) for row in left_out)
    assert not any(row["prediction"] == "unsure" for row in rows if row.get("unsure") is None)
    assert any("coverage 50 %" in note for note in facts["notes"])
    if kind == "choice":  # whose predictions are numbers
        assert in_process(*typed, "-o", "out.parquet", data=tmp_path)[0] == 0
        cells = pq.read_table(tmp_path / "out.parquet").column("prediction").to_pylist()
        assert {str(cell) for cell in cells} <= {"1", "2", "unsure"}


def test_a_risk_is_promised_where_dev_has_rows_enough(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, (wrong, rows) = finished_run("sentence"), (50, 50)
    (tmp_path / "new.csv").write_text("review,a,b\nthe cat sat,a cat,a dog\n")

    def told(*options: Any, model: Path = run) -> str:
        code, out, err = in_process("predict", str(model), "new.csv", "--quiet", *options, data=tmp_path)
        assert (code, out) == (2, "")
        return " ".join(err.split())

    assert "with a confidence" in told("--risk", "0.1", model=finished_run("regression"))
    monkeypatch.setattr(  # other dev rows, of which the least sure are wrong
        unsure, "dev_confidence", lambda *_: (np.linspace(1, 0.5, rows), np.arange(rows) < rows - wrong)
    )
    assert "risk 5 % cannot be promised from 50 rows of dev" in told("--risk", "0.05")
    wrong = 10
    advised = told("--risk", "0.05").split("`--risk` ")[1].split(",")[0]
    assert in_process("predict", str(run), "new.csv", "--quiet", "--risk", advised, data=tmp_path)[0] == 0
    wrong, rows = 200, 400
    model = finetune.load(run, device="cpu")
    texts = [f"the {animal} sat {number}" for number in range(20) for animal in ("cat", "dog")]
    sure = [max(row["p(good)"], row["p(bad)"]) for row in model.predict(texts)]
    found = [row["prediction"] == "unsure" for row in model.predict(texts, risk=0.1)]
    threshold = 1 - 0.5 * 199 / 399  # of the first 200, and of as many wrong ones as the bound allows
    assert all(left for left, p in zip(found, sure, strict=True) if p < threshold - 0.05)
    assert not any(left for left, p in zip(found, sure, strict=True) if p >= threshold)
