"""From a file to a file of answers: order, columns, formats, errors in their place, interruption, labels by name."""

import csv
import gzip
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import datasets
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import finetune as package
from finetune.data.reading import read_table
from finetune.data.records import Record
from finetune.data.source import Source
from finetune.data.writing import write_rows
from finetune.data.written_cells import safe
from finetune.errors import UserError
from finetune.inference import predict_file as predicting
from finetune.inference.answer_rows import answer_lines, lines_of
from finetune.inference.file_scores import scores_of
from finetune.inference.journal import KIND, Journal
from finetune.inference.predict_file import default_output, predict_file
from finetune.inference.predictor import Predictor, load
from finetune.runs.events import unwatched
from finetune.runs.folder import folder_name
from finetune.runs.lookup import latest_run
from finetune.task_types.columns import Layout
from finetune.task_types.starting_recipe import starting_recipe
from finetune.task_types.task import Answer
from finetune.task_types.types import trained_task
from finetune.training.run import run

REVIEWS = [(f"the {'cat' if i % 2 else 'dog'} sat {i // 2}", "good" if i % 2 else "bad") for i in range(80)]
FAST = {"train.epochs": 6, "train.learning_rate": 2e-3, "train.batch_size": 8, "max_length": 16, "train.patience": 6}


def written(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def trained_run(folder: Path, data: Path, model: Path, **settings: Any) -> Path:
    recipe, _ = starting_recipe(str(data), {"model": str(model), **FAST, **settings})
    record = run(recipe, source=Source(), out=folder, watch=unwatched, device="cpu")
    return folder / record.task / record.id


def trained(folder: Path, data: Path, model: Path, **settings: Any) -> Predictor:
    return package.load(trained_run(folder, data, model, **settings))


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A run on a CSV in which cats are good and dogs are bad."""
    folder = tmp_path_factory.mktemp("reviews")
    return trained_run(folder / "results", written(folder / "reviews.csv", [("review", "mark"), *REVIEWS]), tiny_bert)


@pytest.fixture(scope="module")
def reviewer(reviews: Path) -> Predictor:
    return package.load(reviews)


def predict(predictor: Predictor, path: Path, output: Path, **options: str) -> predicting.Prediction:
    return predict_file(predictor, path, output, options=options, watch=unwatched)


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
    assert [row["answer"] for row in reviewer.predict(rows)] == ["bad", "good", "bad"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("the dog sat", "a str is not rows"),
        (b"the dog sat", "a bytes is not rows"),
        (3, "an int is not rows"),
        (None, "a NoneType is not rows"),
        ({"review": "the dog sat"}, "the column 'review' is a str, not a list"),
        ({"review": TEXTS, "n": [1]}, "the columns have 1 to 3 cells"),
        ({"n": [1, 2, 3]}, "have no column 'review', as there was in training"),
        (pd.DataFrame({"n": [1, 2, 3]}), "have no column 'review', as there was in training"),
        (datasets.DatasetDict({"dev": datasets.Dataset.from_dict({"review": TEXTS})}), "have no column 'review'"),
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
        assert [row.get("answer") for row in found] == ["bad", None, None, None, "good"]
        assert all("no text in the column" in row["error"] for row in found[1:4])
    assert reviewer.predict([4])[0].keys() == {"answer", "p(bad)", "p(good)"}  # as a cell of a file


def test_a_row_that_holds_no_text_is_refused(reviewer: Predictor) -> None:
    for wrong in (3, None, ["the dog sat"], {"review": "the dog sat"}):
        with pytest.raises(UserError):
            reviewer(wrong)


def test_a_model_of_another_version_is_refused(reviews: Path, tmp_path: Path) -> None:
    config = shutil.copytree(reviews / "model", tmp_path / "model") / "config.json"
    facts = json.loads(config.read_text())
    facts["finetune"]["layout"]["colour"] = "red"
    config.write_text(json.dumps(facts))
    with pytest.raises(UserError, match=r"of another version of finetune .*'colour'"):
        package.load(tmp_path / "model")


def test_a_model_is_loaded_by_its_task_from_a_folder_named_by_a_text(reviews: Path) -> None:
    assert package.load("reviews.csv", out=str(reviews.parents[1]))("the cat sat").value == "good"


def test_the_split_of_a_run_is_kept_and_can_be_used_again(tmp_path: Path, tiny_bert: Path) -> None:
    data = written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS])
    settings = {"model": str(tiny_bert), **FAST, "train.epochs": 1}
    out = tmp_path / "results"
    first = run(starting_recipe(str(data), settings)[0], source=Source(), out=out, watch=unwatched)
    kept = out / "reviews.csv" / first.id / "split.json"
    split = json.loads(kept.read_text())
    assert len(split["dev"]) == 8
    assert sorted(map(int, split["train"] + split["dev"])) == list(range(1, 81))
    again = run(
        starting_recipe(str(data), {**settings, "split": str(kept)})[0], source=Source(), out=out, watch=unwatched
    )
    assert again.data == first.data
    kept.write_text(json.dumps({"dev": ["500"]}))
    with pytest.raises(UserError, match="1 of its dev rows are not in the data"):
        run(starting_recipe(str(data), {**settings, "split": str(kept)})[0], source=Source(), out=out, watch=unwatched)


@pytest.mark.parametrize(
    ("trained_in", "native_bf16", "used"),
    [("bf16", False, "fp32"), ("bf16", True, "bf16"), ("fp16", True, "fp32"), ("fp32", True, "fp32")],
)
def test_a_model_predicts_in_its_precision_where_the_device_computes_in_it(
    trained_in: str, native_bf16: bool, used: str, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):  # this machine, or one like others
        monkeypatch.setattr(torch.cpu, name, lambda: native_bf16)
    shutil.copytree(reviews / "model", tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["finetune"]["precision"] = trained_in
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    notes: list[str] = []

    def watch(event: str, **facts: Any) -> None:
        if event == "note":
            notes.append(facts["text"])

    predictor = load(tmp_path / "model", watch=watch, device="cpu")
    assert predictor.trainer.accelerator.mixed_precision == ("no" if used == "fp32" else used)
    assert predictor("the cat sat").value == "good"
    note = f"was trained in {trained_in}, in which this cpu does not compute natively: it predicts in fp32"
    assert notes == ([] if used == trained_in else [f"{tmp_path / 'model'} {note}"])


def test_what_the_model_keeps_of_the_columns_is_part_of_the_id(tmp_path: Path, tiny_bert: Path) -> None:
    """The rows are the same, but not what a model would read of a file, or answer."""
    settings = {"model": str(tiny_bert), **FAST, "train.epochs": 1}

    def trained_on(name: str, header: tuple[str, ...], rows: list[tuple[str, ...]], **options: str) -> Layout:
        (tmp_path / name).mkdir()
        data = written(tmp_path / name / "reviews.csv", [header, *rows])
        recipe, _ = starting_recipe(str(data), settings | options)
        record = run(recipe, source=Source(), out=tmp_path / "results", watch=unwatched, device="cpu")
        layout = package.load(tmp_path / "results" / "reviews.csv" / record.id).layout
        assert layout is not None
        return layout

    assert trained_on("first", ("review", "mark"), REVIEWS).text == ("review",)
    assert trained_on("text", ("comment", "mark"), REVIEWS).text == ("comment",)
    assert trained_on("label", ("review", "label"), REVIEWS).label == ("label",)
    assert len(list((tmp_path / "results" / "reviews.csv").iterdir())) == 3
    assert trained_on("again", ("review", "mark"), REVIEWS).text == ("review",)
    assert len(list((tmp_path / "results" / "reviews.csv").iterdir())) == 3


def test_a_row_that_cannot_be_used_makes_no_class(tmp_path: Path, tiny_bert: Path) -> None:
    data = written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS, ("", "awful"), (" ", "fine")])
    _, found = starting_recipe(str(data), {"model": str(tiny_bert)})
    assert found.labels == ("bad", "good")
    lines = [{"words": ["a", "b"], "tags": ["B-X", "O"]}] * 20 + [{"words": ["a"], "tags": ["B-Y", "O"]}]
    (tmp_path / "tags.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert starting_recipe(str(tmp_path / "tags.jsonl"), {})[1].types == ("X",)


def test_every_row_keeps_its_place_and_its_columns(reviewer: Predictor, tmp_path: Path) -> None:
    rows = [
        ("id", "review", "stars"),
        ("a", "the dog sat", "1"),
        ("b", "", "2"),
        ("c", "the cat sat", "3"),
        ("d", " ", ""),
    ]
    found = predict(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv")
    lines = read(tmp_path / "out.csv")
    assert [line["id"] for line in lines] == ["a", "b", "c", "d"]
    assert [line["stars"] for line in lines] == ["1", "2", "3", ""]
    assert [line["answer"] for line in lines] == ["bad", "", "good", ""]
    assert list(lines[0]) == ["id", "review", "stars", "answer", "p(bad)", "p(good)", "error"]
    assert float(lines[0]["p(bad)"]) + float(lines[0]["p(good)"]) == pytest.approx(1, abs=1e-4)
    assert [bool(line["error"]) for line in lines] == [False, True, False, True]
    assert "no text in the column 'review'" in lines[1]["error"]
    assert (found.rows, found.failed, found.scores) == (4, 2, {})


def test_a_row_that_cannot_be_read_keeps_its_place(reviewer: Predictor, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_text(
        '{"review": "the cat sat", "n": 1}\n{broken\n{"review": "the dog sat", "n": 3}\n'
    )
    predict(reviewer, tmp_path / "new.jsonl", tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line.get("answer") for line in lines] == ["good", None, "bad"]
    assert "is not JSON" in lines[1]["error"]
    assert [line.get("n") for line in lines] == [1, None, 3]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx", ".csv.gz"])
def test_any_format_can_be_written(reviewer: Predictor, tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / "new.csv", [("review", "when"), ("the cat sat, 가", "1"), ("the dog sat", "2")])
    predict(reviewer, path, tmp_path / f"out{suffix}")
    table = read_table(tmp_path / f"out{suffix}")
    assert table.columns["review"] == ["the cat sat, 가", "the dog sat"]
    assert table.columns["answer"] == ["good", "bad"]
    assert float(table.columns["p(good)"][0]) > 0.5
    assert not list(tmp_path.glob(".out*"))  # nothing is left beside it


DATES = {
    "day": [date(2024, 2, 29), None, date(1999, 12, 31)],
    "at": [datetime(2024, 2, 29, 12, 30, 5), None, datetime(1999, 12, 31)],
    "hour": [time(12, 30), None, time(0, 0, 1)],
    "price": [Decimal("1.20"), None, Decimal("33.05")],
}
ZONED = [datetime(2024, month, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")) for month in (1, 7)] + [None]


def test_dates_come_back_as_what_they_were(reviewer: Predictor, tmp_path: Path) -> None:
    texts = {"review": ["the cat sat", "the dog sat", ""]}
    given = pa.table({**texts, **DATES, "zoned": pa.array(ZONED, pa.timestamp("us", "Europe/Berlin"))})
    pq.write_table(given, tmp_path / "new.parquet")
    predict(reviewer, tmp_path / "new.parquet", tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    assert [found.schema.field(name).type for name in DATES] == [given.schema.field(name).type for name in DATES]
    assert found.select(given.column_names).to_pydict() == given.to_pydict()
    assert found.schema.field("zoned").type == given.schema.field("zoned").type
    predict(reviewer, tmp_path / "new.parquet", tmp_path / "out.csv")
    first = read(tmp_path / "out.csv")[0]
    assert [first[name] for name in (*DATES, "zoned")] == [
        *("2024-02-29", "2024-02-29T12:30:05", "12:30:00", "1.20", "2024-01-01T12:00:00+01:00")
    ]
    predict(reviewer, tmp_path / "new.parquet", tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["at"] == "2024-02-29T12:30:05"


def test_dates_of_a_sheet_are_dates_in_the_next(reviewer: Predictor, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    rows = [("review", *DATES, "old"), ("the cat sat", *(cells[0] for cells in DATES.values()), "1899-01-01")]
    for row in rows:
        book.active.append(row)  # type: ignore[union-attr]
    book.save(tmp_path / "new.xlsx")
    predict(reviewer, tmp_path / "new.xlsx", tmp_path / "out.xlsx")
    given, found = (
        next(openpyxl.load_workbook(tmp_path / name).worksheets[0].iter_rows(min_row=2))
        for name in ("new.xlsx", "out.xlsx")
    )
    assert [cell.value for cell in found[:5]] == [cell.value for cell in given[:5]]
    assert [cell.is_date for cell in found[:5]] == [False, True, True, True, False]
    write_rows(tmp_path / "zoned.xlsx", [{"zoned": ZONED[0], "old": date(1850, 1, 1)}], ["zoned", "old"])
    assert read_table(tmp_path / "zoned.xlsx").columns == {
        "zoned": ["2024-01-01T12:00:00+01:00"],
        "old": ["1850-01-01"],
    }


def test_an_object_of_the_data_that_looks_like_a_mark_is_kept(tmp_path: Path) -> None:
    rows = [{"x": {KIND: "date", "is": "no date"}}, {"x": {KIND: ["date"]}}, {"x": {"is": 1}}]
    journal = Journal(tmp_path / "out.jsonl", of="")
    with journal:
        journal.add(rows)
        assert list(journal) == rows


def test_gold_is_scored_by_name_in_all_and_by_class(reviewer: Predictor, tmp_path: Path) -> None:
    rows = [
        ("mark", "review"),
        ("good", "the cat sat"),
        ("bad", "the cat ran"),
        ("bad", "the dog sat"),
        ("", "the dog ran"),
    ]
    found = predict(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv")
    assert found.scores["accuracy"] == pytest.approx(2 / 3)
    assert found.scores["good/precision"] == pytest.approx(1 / 2)
    assert found.scores["bad/recall"] == pytest.approx(1 / 2)
    strange = predict(reviewer, written(tmp_path / "odd.csv", [*rows, ("fine", "the cat")]), tmp_path / "out2.csv")
    assert strange.scores == found.scores
    assert "1 row, first 5, with a label that the model does not know" in strange.notes[0]


def test_other_names_of_columns_are_guessed_or_given(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("text", "other"), ("the cat sat here now", "the dog sat and sat")])
    found = predict(reviewer, path, tmp_path / "out.csv")
    assert "read as text: text" in found.notes[0]
    assert read(tmp_path / "out.csv")[0]["answer"] == "good"
    predict(reviewer, path, tmp_path / "out.csv", text="other")
    assert read(tmp_path / "out.csv")[0]["answer"] == "bad"
    with pytest.raises(UserError, match="has no column 'txt'"):
        predict(reviewer, path, tmp_path / "out.csv", text="txt")
    with pytest.raises(UserError, match="unknown setting 'shape'"):
        predict(reviewer, path, tmp_path / "out.csv", shape="span")


def test_a_column_called_answer_is_not_overwritten(reviewer: Predictor, tmp_path: Path) -> None:
    predict(
        reviewer, written(tmp_path / "new.csv", [("review", "answer"), ("the cat sat", "mine")]), tmp_path / "out.csv"
    )
    (line,) = read(tmp_path / "out.csv")
    assert (line["answer"], line["predicted answer"]) == ("mine", "good")


def test_a_column_called_error_is_carried_and_counts_no_failure(reviewer: Predictor, tmp_path: Path) -> None:
    rows = [("review", "error"), ("the cat sat", "404"), ("", "500")]
    found = predict(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv")
    lines = read(tmp_path / "out.csv")
    assert [line["error"] for line in lines] == ["404", "500"]
    assert [bool(line["predicted error"]) for line in lines] == [False, True]
    assert found.failed == 1
    late = [{"review": "the cat sat"}] * 1_001 + [{"review": "the dog sat", "error": "404", "answer": "mine"}]
    (tmp_path / "late.jsonl").write_text("\n".join(map(json.dumps, late)))  # a column that the first rows lack
    assert predict(reviewer, tmp_path / "late.jsonl", tmp_path / "out.jsonl").failed == 0
    last = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[-1])
    assert (last["error"], last["answer"], last["predicted answer"]) == ("404", "mine", "bad")
    assert reviewer.predict([{"review": "the cat sat", "answer": "mine"}])[0]["answer"] == "good"


def test_columns_are_carried_as_they_are(reviewer: Predictor, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    times = [1700000123.0, float("nan"), 0.1234567891]
    pq.write_table(pa.table({"review": ["the cat\rsat", "b", "c"], "time": times}), tmp_path / "new.parquet")
    seen = []
    predict_file(
        reviewer,
        tmp_path / "new.parquet",
        tmp_path / "out.csv",
        options={},
        watch=lambda event, **facts: seen.append((event, facts)),
    )
    lines = read(tmp_path / "out.csv")
    assert [line["time"] for line in lines] == ["1700000123.0", "", "0.1234567891"]
    assert [line["review"] for line in lines] == ["the cat\rsat", "b", "c"]
    assert len(lines[0]["p(bad)"]) <= len("1.23456e-05")
    assert [facts["total"] for event, facts in seen if event == "answered"] == [3]
    assert ("note", {"text": f"{tmp_path / 'new.parquet'}: Parquet"}) in seen
    predict(reviewer, tmp_path / "new.parquet", tmp_path / "out.jsonl")
    assert "NaN" not in (tmp_path / "out.jsonl").read_text()


def test_rows_that_were_cut_are_counted(tmp_path: Path, tiny_bert: Path) -> None:
    pairs = [(f"the cat {i}", f"the dog {i}", "ab"[i % 2]) for i in range(20)]
    data = written(tmp_path / "pairs.csv", [("a", "b", "label"), *pairs])
    paired = trained(tmp_path / "results", data, tiny_bert, **{"train.epochs": 1})
    written(tmp_path / "new.csv", [("a", "b"), ("the cat", "the dog"), ("the cat " * 40, "the dog")])
    found = predict(paired, tmp_path / "new.csv", tmp_path / "out.csv")
    assert found.facts(tmp_path)["truncated"] == 0.5
    assert found.notes[-1] == "1 of 2 rows (50 %) are longer than max_length 16 and lost their end"
    one, two, three = paired.predict(["the cat", ("the cat", "the dog"), {"text": "the cat"}])
    assert "has one text where the model reads two" in one["error"]
    assert "answer" in two and "error" in three
    with pytest.raises(UserError, match="has one text where the model reads two"):
        paired("the cat")
    answers = answer_lines(paired, ["a\tb\n", "a\tb\tc\n", '{"a": "x", "b": "y"}\n'])
    assert ["error" in answer for answer in answers] == [False, True, False]


def test_questions_that_were_cut_are_told_as_such(tmp_path: Path, tiny_bert: Path) -> None:
    rows = [("question", "context", "answer"), *((f"who sat {i}", f"the cat {i} sat", f"cat {i}") for i in range(20))]
    rows[3] = ("who " * 30, "the cat sat", "cat")
    data = written(tmp_path / "questions.csv", rows)
    settings = {"train.epochs": 1, "max_length": 48, "max_question_tokens": 9}
    asked = trained(tmp_path / "results", data, tiny_bert, **settings)
    notes = json.loads(next(tmp_path.glob("results/*/*/record.json")).read_text())["notes"]
    (note,) = [note for note in notes if "longer" in note]
    assert (
        note.partition("% of the ")[2] == "rows have a question longer than max_question_tokens 9, which lost its end"
    )
    found = predict(asked, data, tmp_path / "out.csv")
    said = "1 of 20 rows (5 %) have a question longer than max_question_tokens 9, which lost its end"
    assert said in found.notes


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

    monkeypatch.setattr(Predictor, "answers_and_cuts", lambda _, rows: answers(rows))
    found = reviewer.predict(["fine"] * 100 + ["bad"] + ["fine"] * 155)
    assert [number for number, one in enumerate(found) if "error" in one] == [100]
    assert len(calls) < 20


FORMULAS = ["=cmd|' /C calc'!A0", "-3.5", "@x", "+ one", "\ttab"]


def test_the_cells_of_a_file_are_written_as_they_are(reviewer: Predictor, tmp_path: Path) -> None:
    rows = [("review", "=note"), *((f"@user the cat {cell}", cell) for cell in FORMULAS)]
    for suffix in (".csv", ".tsv"):
        path, out = written(tmp_path / "new.csv", rows), tmp_path / f"out{suffix}"
        found = predict(reviewer, path, out)
        columns = read_table(out).columns
        assert list(zip(columns["review"], columns["=note"], strict=True)) == rows[1:]
        assert not any("apostrophe" in note for note in found.notes)


def test_cells_like_formulas_are_escaped_by_choice_and_counted(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("review", "note"), *(("the cat", cell) for cell in FORMULAS)])
    found = predict_file(reviewer, path, tmp_path / "out.csv", options={}, watch=unwatched, escape=True)
    assert [line["note"] for line in read(tmp_path / "out.csv")] == [
        *("'=cmd|' /C calc'!A0", "-3.5", "'@x", "'+ one", "'\ttab")
    ]
    (note,) = [note for note in found.notes if "apostrophe" in note]
    assert "out.csv: 4 cells with an apostrophe in front, so that no spreadsheet runs them" in note
    assert [safe(cell) for cell in ("+1", "-", "\tx", "a=b", ["=x"])] == ["+1", "-", "'\tx", "a=b", '["=x"]']


def test_answers_that_a_spreadsheet_would_run_are_escaped_and_counted(
    reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Predictor, "answers_and_cuts", lambda _, rows: ([Answer(value="=A1()")] * len(rows), [False] * len(rows))
    )
    path = written(tmp_path / "new.csv", [("review", "answer"), ("=the cat", "=1+1"), ("the dog", "x")])
    found = predict(reviewer, path, tmp_path / "out.csv")
    (first, second) = read(tmp_path / "out.csv")
    assert (first["review"], first["answer"], first["predicted answer"]) == ("=the cat", "=1+1", "'=A1()")
    assert second["predicted answer"] == "'=A1()"
    assert any("2 cells with an apostrophe" in note for note in found.notes)


def test_it_goes_on_after_an_interruption(reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "new.csv", [("review",), *((text,) for text, _ in REVIEWS * 3)])
    whole = tmp_path / "whole.csv"
    predict(reviewer, path, whole)

    def stopped(event: str, **facts: Any) -> None:
        if event == "answered" and facts["done"] >= 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(reviewer, path, tmp_path / "out.csv", options={}, watch=stopped)
    (part,) = tmp_path.glob(".out.csv*")
    part.write_bytes(part.read_bytes() + b'{"half a li')  # as a power cut would leave it
    found = predict(reviewer, path, tmp_path / "out.csv")
    assert (found.resumed, found.rows) == (64, 240)
    first, second = read(whole), read(tmp_path / "out.csv")
    assert [line["answer"] for line in first] == [line["answer"] for line in second]
    assert [line["review"] for line in first] == [line["review"] for line in second]
    assert not list(tmp_path.glob(".out*"))


def test_two_at_one_output_do_not_spoil_it(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("review",), ("the cat sat",)])

    def second(event: str, **_: Any) -> None:
        if event == "answered":
            with pytest.raises(UserError, match="another process is writing this file"):
                predict(reviewer, path, tmp_path / "out.csv")

    predict_file(reviewer, path, tmp_path / "out.csv", options={}, watch=second)
    assert read(tmp_path / "out.csv")[0]["answer"] == "good"


def test_another_file_is_not_gone_on_with(reviewer: Predictor, tmp_path: Path) -> None:
    def stopped(event: str, **_: Any) -> None:
        if event == "answered":
            raise KeyboardInterrupt

    rows = [("review",), *((text,) for text, _ in REVIEWS * 3)]
    with pytest.raises(KeyboardInterrupt):
        predict_file(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv", options={}, watch=stopped)
    found = predict(reviewer, written(tmp_path / "new.csv", rows[:-1]), tmp_path / "out.csv")
    assert (found.resumed, found.rows) == (0, 239)


def test_in_python_and_line_by_line(reviewer: Predictor) -> None:
    rows = ["the cat sat", {"review": "the dog sat", "x": 1}, {"text": "the cat ran"}, ("the dog sat",), {"review": ""}]
    found = reviewer.predict(rows)
    assert [one.get("answer") for one in found] == ["good", "bad", "good", "bad", None]
    assert "no text" in found[4]["error"]
    assert reviewer.predict([]) == []
    assert reviewer.predict(["\ud800 broken"])[0]["error"]
    lines = iter(["the cat sat\n", '{"review": "the dog sat"}\n', "{broken\n", "\n"])
    answers = answer_lines(reviewer, lines)
    assert next(answers)["answer"] == "good"
    assert next(lines) == '{"review": "the dog sat"}\n'  # a line is answered before the next one is read
    assert "is not JSON" in next(answers)["error"]
    assert "no text" in next(answers)["error"]
    odd = io.TextIOWrapper(io.BytesIO(b"\xff\xfe caf\xe9\na\tb\na\tb\tc\n" + b'{"a":' * 99_999 + b"\nthe cat sat\n"))
    assert ["error" in answer for answer in answer_lines(reviewer, lines_of(odd))] == [True, True, True, True, False]


def test_what_cannot_be_done_is_said(reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "new.csv", [("review",), ("the cat",)])
    with pytest.raises(UserError, match="is the file that is read"):
        predict(reviewer, path, path)
    with pytest.raises(UserError, match="cannot be told from its name"):
        predict(reviewer, path, tmp_path / "out.doc")
    with pytest.raises(UserError, match="CoNLL columns hold words and tags"):
        predict(reviewer, path, tmp_path / "out.conll")
    with pytest.raises(UserError, match="cannot be written"):
        predict(reviewer, path, tmp_path / "none" / "out.csv")
    (tmp_path / "there.csv").write_text("x")
    with pytest.raises(UserError, match=r"none.csv: cannot be read"):
        predict(reviewer, tmp_path / "none.csv", tmp_path / "there.csv")
    for suffix in (".parquet.gz", ".xlsx.gz"):
        with pytest.raises(UserError, match="compressed in themselves"):
            predict(reviewer, path, tmp_path / f"out{suffix}")
    monkeypatch.setattr(predicting, "answer_records", None)  # what does not fit is said before anything is predicted
    with pytest.raises(UserError, match="CoNLL columns hold words and tags"):
        predict(reviewer, path, tmp_path / "out.conll")
    for given, said in (({"label": "typo"}, "has no column 'typo'"), ({"id": "review"}, "unknown setting 'id'")):
        with pytest.raises(UserError, match=said):
            predict(reviewer, path, tmp_path / "out.csv", **given)
    assert not list(tmp_path.glob(".out*"))
    assert [str(default_output(Path(name))) for name in ("a/new.csv", "new.tsv.gz", "train")] == [
        "new.predicted.csv", "new.predicted.tsv.gz", "train.predicted.jsonl",
    ]  # fmt: skip


def test_the_other_shapes(tmp_path: Path, tiny_bert: Path) -> None:
    once = {"train.epochs": 1}
    tags = tmp_path / "tags.conll"
    tags.write_text("the O\ncat B-PET\nsat O\n\nthe O\ndog B-PET\n\n" * 10)
    tagger = trained(tmp_path / "results", tags, tiny_bert, **once)
    predict(tagger, tags, tmp_path / "out.conll")
    lines = (tmp_path / "out.conll").read_text().splitlines()
    assert [line.split("\t")[:2] for line in lines[:2]] == [["the", "O"], ["cat", "B-PET"]]
    odd = [{"words": "the cat", "tags": "O O"}, {"words": "the dog", "tags": ["O"]}, {"words": ""}]
    (tmp_path / "odd.jsonl").write_text("\n".join(map(json.dumps, odd)))
    predict(tagger, tmp_path / "odd.jsonl", tmp_path / "odd.conll.gz")
    lines = gzip.decompress((tmp_path / "odd.conll.gz").read_bytes()).decode().split("\n")
    assert [line.split("\t")[0] for line in lines[:4]] == ["the", "cat", "", "the"]
    (found,) = tagger.predict(["the cat sat"])
    assert found["characters"] == [[0, 3], [4, 7], [8, 11]]
    assert len(found["answer"]) == len(found["probabilities"]) == 3

    span = tmp_path / "span.jsonl"
    rows = [
        {"question": "who sat?", "context": f"the cat sat {i}", "answer": "cat" if i % 3 else ""} for i in range(30)
    ]
    span.write_text("\n".join(map(json.dumps, rows)))
    asker = trained(tmp_path / "results", span, tiny_bert, max_length=32, **once)
    (found,) = asker.predict([("who sat?", "the dog sat")])
    assert found["answer"] == "the dog sat"[found["start"] or 0 : found["end"] or 0]
    assert 0 <= found["p(no answer)"] <= 1
    scored = predict(asker, span, tmp_path / "out.csv")
    assert set(scored.scores) >= {"f1", "em"}
    assert "predicted answer" in read(tmp_path / "out.csv")[0]

    choice = tmp_path / "choice.csv"
    endings = [(f"the cat {i}", "sat", "ran", str(1 + i % 2)) for i in range(30)]
    written(choice, [("context", "choice1", "choice2", "label"), *endings])
    chooser = trained(tmp_path / "results", choice, tiny_bert, **once)
    (found,) = chooser.predict([("the cat", ["sat", "ran"])])
    assert set(found) == {"answer", "answer text", "p(choice 1)", "p(choice 2)"}
    scores = predict(chooser, choice, tmp_path / "chosen.csv").scores
    lines = read(tmp_path / "chosen.csv")
    assert {line["answer"] for line in lines} <= {"1", "2"}  # counted as the labels are
    assert scores["accuracy"] == sum(line["answer"] == line["label"] for line in lines) / 30

    letters = tmp_path / "letters.csv"
    written(
        letters, [("question", "A", "B", "C", "answer"), *((a, b, c, "lay", "ABC"[int(n)]) for a, b, c, n in endings)]
    )
    chooser = trained(tmp_path / "results", letters, tiny_bert, **once)
    scores = predict(chooser, letters, tmp_path / "lettered.csv").scores
    lines = read(tmp_path / "lettered.csv")
    assert {line["predicted answer"] for line in lines} <= {"A", "B", "C"}
    assert scores["accuracy"] == sum(line["predicted answer"] == line["answer"] for line in lines) / 30
    assert {"p(choice A)", "p(choice C)"} <= set(lines[0])

    many = tmp_path / "many.jsonl"
    many.write_text("\n".join(json.dumps({"text": f"the cat {i}", "labels": ["a", "b"][: i % 3]}) for i in range(30)))
    marker = trained(tmp_path / "results", many, tiny_bert, **once)
    (found,) = marker.predict(["the cat"])
    assert set(found) == {"answer", "p(a)", "p(b)"}
    assert "micro f1" in predict(marker, many, tmp_path / "marked.jsonl").scores

    number = tmp_path / "number.csv"
    written(
        number, [("a", "b", "score"), *((f"the cat {i} sat", f"the dog {i} ran", f"{i / 7:.2f}") for i in range(30))]
    )
    rater = trained(tmp_path / "results", number, tiny_bert, **once)
    assert isinstance(rater.predict([("the cat", "the dog")])[0]["answer"], float)


def test_the_commands(in_process: Callable[..., tuple[int, str, str]], tmp_path: Path, tiny_bert: Path) -> None:
    def call(*arguments: str, data: Path = tmp_path) -> tuple[int, str, str]:
        return in_process(*arguments, data=data)

    written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS])
    settings = ["train.epochs=1", "max_length=16", f"model={tiny_bert}"]
    code, printed, _ = call("init", "reviews.csv", *settings)
    assert code == 0
    assert printed.startswith("# finetune run my.toml\n")
    (tmp_path / "my.toml").write_text(printed)
    code, shown, _ = call("run", "my.toml")
    assert code == 0
    assert "8 rows were drawn for dev" in shown
    assert "already done" in call("run", "reviews.csv", *settings)[2]  # the recipe that was guessed is the same run
    code, answered, _ = call("predict", "reviews.csv", "reviews.csv", "--json")
    facts = json.loads(answered)
    assert (code, facts["output"], facts["rows"]) == (0, "reviews.predicted.csv", 80)
    assert len(read(tmp_path / "reviews.predicted.csv")) == 80
    assert "macro f1" in facts["scores"]
    code, shown, _ = call("predict", "reviews.csv", "reviews.csv", "-o", "out.csv", "--quiet")
    assert "80 rows in" in shown
    assert "good: f1" in shown
    for arguments, said in ((["none.csv"], "none.csv"), (["reviews.csv", "colour=red"], "unknown setting 'colour'")):
        code, _, error = call("predict", "reviews.csv", *arguments)
        assert (code, "Traceback" in error) == (2, False)
        assert said in error


def test_a_run_is_scored_on_another_file(
    reviews: Path, in_process: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    def call(*arguments: str) -> tuple[int, str, str]:
        return in_process("evaluate", str(reviews), *arguments, data=tmp_path)

    written(tmp_path / "more.csv", [("review", "mark"), *REVIEWS[:9], ("a text", "")])
    code, shown, said = call("more.csv")
    assert (code, "1 row without a label" in said) == (0, True)
    assert "dev macro f1 100.0" in shown
    assert "is the training file" not in said
    own = str(reviews.parents[2] / "reviews.csv")
    assert "is the training file" in call(own)[2]
    written(tmp_path / "other.csv", [("text", "mark"), ("the cat", "good")])
    code, _, said = call("other.csv")
    assert (code, len(said.splitlines())) == (2, 1)
    assert "has no column review" in said and "finetune predict" in said


def test_files_of_any_name_find_their_run(tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("리뷰.csv", "my reviews (1).csv"):
        data = written(tmp_path / name, [("review", "mark"), *REVIEWS[:20]])
        recipe, _ = starting_recipe(name, {"model": str(tiny_bert), **FAST, "train.epochs": 1})
        record = run(recipe, source=Source(), out=Path("results"), watch=unwatched, device="cpu")
        found = latest_run(name, Path("results"))
        assert found is not None and found.path.name == record.id
        data.unlink()  # a run is found by the name of its data, also where the data is not
        again = latest_run(name, Path("results"))
        assert again is not None and again.path == found.path
    assert sorted(path.name for path in Path("results").iterdir()) == ["my-reviews-1-.csv", "리뷰.csv"]
    old = {name: re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") for name in ("a b.csv", "x.py:t", "a_(1)", ".b-")}
    assert {name: folder_name(name) for name in old} == old  # as they were before other scripts were kept


def test_data_is_no_recipe_to_copy(in_process: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS[:9]])
    code, _, said = in_process("cp", "reviews.csv", "mine.toml", data=tmp_path)
    assert code == 2
    assert "reviews.csv is data, not a recipe. `finetune init reviews.csv`" in said
    assert not (tmp_path / "mine.toml").exists()


def test_lines_come_and_go_through_a_pipe(reviews: Path) -> None:
    command = [sys.executable, "-m", "finetune", "predict", str(reviews), "-"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for text, answer in (("the cat sat", "good"), ("the dog sat", "bad")):
            running.stdin.write(f"{text}\n")
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["answer"] == answer  # before the next line is there
        running.send_signal(signal.SIGINT)
        assert running.wait(300) == 130
        assert running.stderr is not None
        assert running.stderr.read().splitlines()[-1].startswith("interrupted; the same command")


def test_gzip_in_and_out_in_place(reviewer: Predictor, tmp_path: Path) -> None:
    (tmp_path / "new.csv.gz").write_bytes(gzip.compress(b"review\nthe cat sat\nthe dog sat\n"))
    predict(reviewer, tmp_path / "new.csv.gz", tmp_path / "out.tsv.gz")
    lines = list(
        csv.DictReader(io.StringIO(gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()).decode()), delimiter="\t")
    )
    assert [line["answer"] for line in lines] == ["good", "bad"]


def test_windows_do_not_change_answers(reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "new.csv", [("review",), *((text,) for text, _ in REVIEWS)])
    predict(reviewer, path, tmp_path / "one.csv")
    monkeypatch.setattr(predicting, "FIRST_WINDOW", 3)
    monkeypatch.setattr(predicting, "WINDOW", 7)
    predict(replace(reviewer), path, tmp_path / "two.csv")
    assert [line["answer"] for line in read(tmp_path / "one.csv")] == [
        line["answer"] for line in read(tmp_path / "two.csv")
    ]
