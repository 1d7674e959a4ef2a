"""A trained model in Python: whatever holds rows gets an answer a row, of every task type."""

import gzip
import io
import json
import re
import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from support.predicted_files import predict, read, written
from support.records import change_config
from support.runs import REVIEWS, FinishedRun, trained_run

from finetune.data.records import Record
from finetune.errors import UserError
from finetune.inference import answer_rows as predicting
from finetune.inference.answer_rows import stream_lines
from finetune.inference.predict_file import scores_of
from finetune.inference.predictor import Predictor, load_predictor
from finetune.runs.events import Event, Note
from finetune.task_types.columns import Layout
from finetune.task_types.parts import Answer
from finetune.task_types.types import trained_task


def trained(folder: Path, data: Path, model: Path, **settings: Any) -> Predictor:
    return load_predictor(trained_run(folder, data, model, **settings))


TEXTS = ["the dog sat", "the cat sat", "the dog sat 7"]


@pytest.mark.parametrize(
    "rows",
    [
        TEXTS,
        tuple(TEXTS),
        iter(TEXTS),
        [(text,) for text in TEXTS],
        [[text] for text in TEXTS],
        [{"review": text, "n": 1} for text in TEXTS],
        {"n": [1, 2, 3], "review": TEXTS},
        np.array(TEXTS),
        pd.Series(TEXTS),
        pd.DataFrame({"n": [1, 2, 3], "review": TEXTS}, index=[7, 7, 7]),
        pd.DataFrame({"n": [1, 2, 3], " review\ufeff": TEXTS}),
        pa.table({"n": [1, 2, 3], "review": TEXTS}),
        datasets.Dataset.from_dict({"n": [1, 2, 3], "review": TEXTS}),
        datasets.Dataset.from_dict({"n": [1, 2, 3], "review": TEXTS}).to_iterable_dataset(),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_whatever_holds_rows_gives_an_answer_a_row(reviewer: Predictor, rows: Any) -> None:
    assert [row["prediction"] for row in reviewer.predict(rows)] == ["bad", "good", "bad"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("the dog sat", "a str"),
        (b"the dog sat", "a bytes"),
        (3, "an int"),
        (None, "a NoneType"),
        ({"review": "the dog sat"}, "'review' is a str"),
        ({"review": TEXTS, "n": [1]}, "1 to 3"),
        ({"n": [1, 2, 3]}, "'review'"),
        (pd.DataFrame({"n": [1, 2, 3]}), "'review'"),
        (datasets.DatasetDict({"dev": datasets.Dataset.from_dict({"review": TEXTS})}), "'review'"),
    ],
)
def test_what_makes_no_rows_is_refused(reviewer: Predictor, rows: Any, expected: str) -> None:
    with pytest.raises(UserError, match=re.escape(expected)):
        reviewer.predict(rows)


def test_a_cell_that_holds_nothing_keeps_its_place(reviewer: Predictor) -> None:
    for rows in (
        pd.DataFrame({"review": ["the dog sat", None, pd.NA, float("nan"), "the cat sat"]}),
        pd.Series(["the dog sat", None, pd.NA, float("nan"), "the cat sat"]),
        [{"review": "the dog sat"}, {"review": None}, {"n": 1}, float("nan"), "the cat sat"],
    ):
        found = reviewer.predict(rows)
        assert [row.get("prediction") for row in found] == ["bad", None, None, None, "good"]
        assert all("no text" in row["error"] for row in found[1:4])
    assert reviewer.predict([4])[0].keys() == {"prediction", "p(bad)", "p(good)"}  # as a cell of a file


def test_a_model_of_another_version_is_refused(reviews: Path, tmp_path: Path) -> None:
    model = shutil.copytree(reviews / "model", tmp_path / "model")
    settings = json.loads((model / "config.json").read_text())["finetune"]
    change_config(model, finetune=settings | {"layout": settings["layout"] | {"colour": "red"}})
    with pytest.raises(UserError, match=r"'colour'"):
        load_predictor(tmp_path / "model")


def test_a_model_is_loaded_by_its_task_from_a_folder_named_by_a_text(reviews: Path) -> None:
    assert load_predictor("reviews.csv", out=str(reviews.parents[1]))("the cat sat").value == "good"


@pytest.mark.parametrize(
    ("trained_in", "native_bf16", "used"),
    [("bf16", False, "fp32"), ("bf16", True, "bf16"), ("fp16", True, "fp32"), ("fp32", True, "fp32")],
)
def test_a_model_predicts_in_its_precision_where_the_device_computes_in_it(
    trained_in: str, native_bf16: bool, used: str, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):  # this machine, or one like others
        monkeypatch.setattr(torch.cpu, name, lambda: native_bf16)
    model = shutil.copytree(reviews / "model", tmp_path / "model")
    settings = json.loads((model / "config.json").read_text())["finetune"]
    change_config(model, finetune=settings | {"precision": trained_in})
    notes: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)

    predictor = load_predictor(tmp_path / "model", watch=watch, device="cpu")
    assert predictor.engine.accelerator.mixed_precision == ("no" if used == "fp32" else used)
    assert predictor("the cat sat").value == "good"
    note = f"was trained in {trained_in}, in which this cpu does not compute natively: it predicts in fp32"
    assert notes == ([] if used == trained_in else [f"{tmp_path / 'model'} {note}"])


def test_rows_that_were_cut_are_counted(tmp_path: Path, tiny_bert: Path) -> None:
    pairs = [(f"the cat {i}", f"the dog {i}", "ab"[i % 2]) for i in range(20)]
    data = written(tmp_path / "pairs.csv", [("a", "b", "label"), *pairs])
    paired = trained(tmp_path / "results", data, tiny_bert, **{"train.epochs": 1})
    written(tmp_path / "new.csv", [("a", "b"), ("the cat", "the dog"), ("the cat " * 40, "the dog")])
    found = predict(paired, tmp_path / "new.csv", tmp_path / "out.csv")
    assert found.facts(tmp_path)["truncated"] == 0.5
    assert found.notes[-1] == "1 of 2 rows (50 %) are longer than max_length 16: the longer text is truncated"
    one, two, three = paired.predict(["the cat", ("the cat", "the dog"), {"text": "the cat"}])
    assert "1 text" in one["error"]
    assert "prediction" in two and "error" in three
    with pytest.raises(UserError, match="1 text"):
        paired("the cat")
    answers = paired.predict_lines(["a\tb\n", "a\tb\tc\n", '{"a": "x", "b": "y"}\n'])
    assert ["error" in answer for answer in answers] == [False, True, False]


def test_questions_that_were_cut_are_told_as_such(tmp_path: Path, tiny_bert: Path) -> None:
    rows = [("question", "context", "answer"), *((f"who sat {i}", f"the cat {i} sat", f"cat {i}") for i in range(20))]
    rows[3] = ("who " * 30, "the cat sat", "cat")
    data = written(tmp_path / "questions.csv", rows)
    settings = {"train.epochs": 1, "max_length": 48, "max_question_tokens": 9}
    asked = trained(tmp_path / "results", data, tiny_bert, **settings)
    notes = json.loads(next(tmp_path.glob("results/*/*/record.json")).read_text())["notes"]
    (note,) = [note for note in notes if "longer" in note]
    assert note.partition("% of the ")[2] == "rows have a question longer than max_question_tokens: it is truncated"
    found = predict(asked, data, tmp_path / "out.csv")
    said = "1 of 20 rows (5 %) have a question longer than max_question_tokens: it is truncated"
    assert said in found.notes


@pytest.mark.slow
def test_scoring_numbers_keeps_the_numbers_alone() -> None:
    layout = Layout(shape="regression", text=("text",), label=("score",))
    task = trained_task(layout, name="numbers")

    def scored(count: int) -> dict[str, float]:
        values = ({"text": f"a text {i}", "score": f"{i / 7}"} for i in range(count))
        records = (Record(row=i, line=i, values=cells) for i, cells in enumerate(values))
        return scores_of(task, layout, ((record, record.row / 7 + record.row % 3) for record in records), [])

    scored(10)  # what is imported does not count
    tracemalloc.start()
    scores = scored(20_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scores["pearson"] > 0.99
    assert most < 300 * 20_000  # bytes; whole rows and answers take more than 600 each


def test_one_bad_row_does_not_make_all_run_alone(reviewer: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def answers(rows: list[Any]) -> tuple[list[Answer], list[bool]]:
        calls.append(len(rows))
        if any(row.text == "bad" for row in rows):
            raise ValueError("no")
        return [Answer(value="good") for _ in rows], [False] * len(rows)

    monkeypatch.setattr(Predictor, "answers_and_truncated", lambda _, rows, *features: answers(rows))
    found = reviewer.predict(["fine"] * 100 + ["bad"] + ["fine"] * 155)
    assert [number for number, one in enumerate(found) if "error" in one] == [100]
    assert len(calls) < 20


def test_in_python_and_line_by_line(reviewer: Predictor) -> None:
    rows = ["the cat sat", {"review": "the dog sat", "x": 1}, {"text": "the cat ran"}, ("the dog sat",), {"review": ""}]
    found = reviewer.predict(rows)
    assert [one.get("prediction") for one in found] == ["good", "bad", "good", "bad", None]
    assert "no text" in found[4]["error"]
    assert reviewer.predict([]) == []
    assert reviewer.predict(["\ud800 broken"])[0]["error"]
    lines = iter(["the cat sat\n", '{"review": "the dog sat"}\n', "{broken\n", "\n"])
    answers = reviewer.predict_lines(lines)
    assert next(answers)["prediction"] == "good"
    assert next(lines) == '{"review": "the dog sat"}\n'  # a line is answered before the next one is read
    assert "is not JSON" in next(answers)["error"]
    assert "no text" in next(answers)["error"]
    odd = io.TextIOWrapper(io.BytesIO(b"\xff\xfe caf\xe9\na\tb\na\tb\tc\n" + b'{"a":' * 99_999 + b"\nthe cat sat\n"))
    assert ["error" in answer for answer in reviewer.predict_lines(stream_lines(odd))] == [
        True,
        True,
        True,
        True,
        False,
    ]


def test_tags_of_words_and_of_texts(finished_run: FinishedRun, tmp_path: Path) -> None:
    run = finished_run("tagging")
    tagger = load_predictor(run)
    predict(tagger, run.parents[2] / "tags.conll", tmp_path / "out.conll")
    lines = (tmp_path / "out.conll").read_text().splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["the", "O"], ["cat", "B-PET"]]
    odd = [{"words": "the cat", "tags": "O O"}, {"words": "the dog", "tags": ["O"]}, {"words": ""}]
    (tmp_path / "odd.jsonl").write_text("\n".join(map(json.dumps, odd)))
    predict(tagger, tmp_path / "odd.jsonl", tmp_path / "odd.conll.gz")
    lines = gzip.decompress((tmp_path / "odd.conll.gz").read_bytes()).decode().split("\n")
    assert [line.split("\t")[0] for line in lines[:4]] == ["the", "cat", "", "the"]
    (found,) = tagger.predict(["the cat sat"])
    assert found["characters"] == [[0, 3], [4, 7], [8, 11]]
    assert len(found["prediction"]) == len(found["probabilities"]) == 3


def test_spans_and_no_answers(finished_run: FinishedRun, tmp_path: Path) -> None:
    run = finished_run("span")
    asker = load_predictor(run)
    (found,) = asker.predict([("who sat?", "the dog sat")])
    assert found["prediction"] == "the dog sat"[found["start"] or 0 : found["end"] or 0]
    assert 0 <= found["p(no answer)"] <= 1
    scored = predict(asker, run.parents[2] / "span.jsonl", tmp_path / "out.csv")
    assert set(scored.scores) >= {"f1", "em"}
    assert "prediction" in read(tmp_path / "out.csv")[0]


def test_choices_by_number_and_by_letter(finished_run: FinishedRun, tmp_path: Path) -> None:
    run = finished_run("choice")
    chooser = load_predictor(run)
    (found,) = chooser.predict([("the cat", ["sat", "ran"])])
    assert set(found) == {"prediction", "prediction text", "p(choice 1)", "p(choice 2)"}
    scores = predict(chooser, run.parents[2] / "choice.csv", tmp_path / "chosen.csv").scores
    lines = read(tmp_path / "chosen.csv")
    assert {line["prediction"] for line in lines} <= {"1", "2"}  # counted as the labels are
    assert scores["accuracy"] == sum(line["prediction"] == line["label"] for line in lines) / 30
    run = finished_run("choice by letter")
    scores = predict(load_predictor(run), run.parents[2] / "letters.csv", tmp_path / "lettered.csv").scores
    lines = read(tmp_path / "lettered.csv")
    assert {line["prediction"] for line in lines} <= {"A", "B", "C"}
    assert scores["accuracy"] == sum(line["prediction"] == line["answer"] for line in lines) / 30
    assert {"p(choice A)", "p(choice C)"} <= set(lines[0])


def test_several_labels_and_numbers(finished_run: FinishedRun, tmp_path: Path) -> None:
    run = finished_run("multilabel")
    marker = load_predictor(run)
    (found,) = marker.predict(["the cat"])
    assert set(found) == {"prediction", "p(a)", "p(b)"}
    assert "micro f1" in predict(marker, run.parents[2] / "many.jsonl", tmp_path / "marked.jsonl").scores
    rater = load_predictor(finished_run("regression"))
    assert isinstance(rater.predict([("the cat", "the dog")])[0]["prediction"], float)


def test_windows_do_not_change_answers(reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "new.csv", [("review",), *((text,) for text, _ in REVIEWS)])
    predict(reviewer, path, tmp_path / "one.csv")
    monkeypatch.setattr(predicting, "FIRST_WINDOW", 3)
    monkeypatch.setattr(predicting, "WINDOW", 7)
    predict(replace(reviewer), path, tmp_path / "two.csv")
    assert [line["prediction"] for line in read(tmp_path / "one.csv")] == [
        line["prediction"] for line in read(tmp_path / "two.csv")
    ]
