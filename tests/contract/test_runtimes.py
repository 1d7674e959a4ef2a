"""A saved model answers alike in each runtime, and by the line that its run prints."""

from pathlib import Path

import pytest
from runtimes import RUNTIMES, encoder, measured
from support.cli import InProcess
from support.runs import FAST, REVIEWS, as_csv
from transformers import pipeline

import finetune

PIPELINE = "  in transformers: "
ALL, NO_TEXT, ONNX = set(RUNTIMES), {"transformers", "onnxruntime"}, {"onnxruntime"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "family", "pooling", "loads"),
    [
        ("one label", "bert", "mean", ALL),
        ("label of a pair", "xlm-roberta", "mean", ALL),
        ("number", "distilbert", "mean", ALL),
        ("several labels", "modernbert", "mean", ALL),
        ("one label", "deberta-v2", "family", NO_TEXT),
        ("choice", "roberta", "mean", NO_TEXT),
        ("tags", "roberta", "", NO_TEXT),
        ("answer", "distilbert", "", NO_TEXT),
        ("relevance", "bert", "family", NO_TEXT),
        ("overlapping spans", "bert", "", ONNX),
        ("intent and slots", "bert", "", ONNX),
    ],
)
def test_a_model_answers_alike_in_each_runtime(
    kind: str, family: str, pooling: str, loads: set[str], tmp_path: Path
) -> None:
    settings = {"pooling": pooling} if pooling else {}
    found = measured(kind, settings, encoder(family, tmp_path / family), tmp_path)
    assert {runtime for runtime in RUNTIMES if found[runtime]} == loads
    for runtime in loads:
        assert found[runtime]["equal"] == found[runtime]["rows"] == 300
        assert found[runtime]["largest difference"] < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "unit", "family"])
def test_the_line_that_a_run_prints_answers_as_the_run(
    pooling: str, tiny_bert: Path, tmp_path: Path, in_process: InProcess
) -> None:
    file = tmp_path / "reviews.csv"
    file.write_text(as_csv(("review", "mark"), *REVIEWS))
    settings = [f"{name}={value}" for name, value in (FAST | {"pooling": pooling, "train.precision": "fp32"}).items()]
    code, printed, error = in_process("run", str(file), f"model={tiny_bert}", *settings, data="")
    assert code == 0, error
    (line,) = (line.removeprefix(PIPELINE) for line in printed.splitlines() if line.startswith(PIPELINE))
    rows = finetune.open_run("reviews.csv").predictions
    answers = eval(line, {"pipeline": pipeline})(rows["text"].tolist())
    assert [answer["label"] for answer in answers] == rows["prediction"].tolist()
