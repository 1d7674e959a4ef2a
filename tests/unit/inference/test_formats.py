"""Files of predictions in every format: cells, dates and formulas as they were."""

import csv
import gzip
import io
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.predicted_files import predict, read, written

from finetune.data.detect import BY_SUFFIX
from finetune.data.reading import read_table
from finetune.data.values import safe
from finetune.data.writing import write_rows
from finetune.inference.predict_file import predict_file
from finetune.inference.predictor import Predictor
from finetune.runs.events import unwatched
from finetune.task_types.parts import Answer


@pytest.mark.parametrize("suffix", [*sorted({*BY_SUFFIX} - {".conll"}), ".csv.gz"])
def test_any_format_can_be_written(reviewer: Predictor, tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / "new.csv", [("review", "when"), ("the cat sat, 가", "1"), ("the dog sat", "2")])
    predict(reviewer, path, tmp_path / f"out{suffix}")
    table = read_table(tmp_path / f"out{suffix}")
    assert table.columns["review"] == ["the cat sat, 가", "the dog sat"]
    assert table.columns["prediction"] == ["good", "bad"]
    assert float(table.columns["p(good)"][0]) > 0.5
    assert not list(tmp_path.glob(".out*"))  # nothing else is left


@pytest.mark.parametrize(
    ("encoding", "suffix", "marked"),
    [
        *(("utf-8-sig", ".csv", True), ("utf-8-sig", ".jsonl", False), ("utf-8", ".csv", False)),
        *(("cp949", ".csv", True), ("cp949", ".xlsx", False)),
    ],
)
def test_csv_has_a_byte_order_mark_where_its_input_is_marked_or_of_an_older_encoding(
    reviewer: Predictor, tmp_path: Path, encoding: str, suffix: str, marked: bool
) -> None:
    path, output = tmp_path / "new.csv", tmp_path / f"out{suffix}"
    lines = [f"오늘 본 영화는 정말 {i}번 보아도 좋은 영화였다,{i}" for i in range(30)]
    path.write_text("\n".join(["review,when", *lines]) + "\n", encoding=encoding)
    predict(reviewer, path, output)
    assert output.read_bytes().startswith(b"\xef\xbb\xbf") is marked
    assert read_table(output).columns["review"][0] == lines[0].partition(",")[0]


DATES = {
    "day": [date(2024, 2, 29), None],
    "at": [datetime(2024, 2, 29, 12, 30, 5, tzinfo=UTC), None],
    "hour": [time(12, 30), None],
    "price": [Decimal("1.20"), None],
}


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".xlsx"])
def test_dates_and_decimals_become_texts(reviewer: Predictor, tmp_path: Path, suffix: str) -> None:
    pq.write_table(pa.table({"review": ["the cat sat", "the dog sat"], **DATES}), tmp_path / "new.parquet")
    predict(reviewer, tmp_path / "new.parquet", tmp_path / f"out{suffix}")
    found = read_table(tmp_path / f"out{suffix}").columns
    assert [found[name][0] for name in DATES] == ["2024-02-29", "2024-02-29T12:30:05+00:00", "12:30:00", "1.20"]


def test_dates_are_dates_in_a_sheet_that_is_written(tmp_path: Path) -> None:
    write_rows(tmp_path / "out.xlsx", [{"day": date(2024, 2, 29), "old": date(1850, 1, 1)}], ["day", "old"])
    day, old = next(openpyxl.load_workbook(tmp_path / "out.xlsx").worksheets[0].iter_rows(min_row=2))
    assert (day.is_date, old.value) == (True, "1850-01-01")


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
    assert "out.csv: 4 cells escaped with a leading apostrophe" in note
    assert [safe(cell) for cell in ("+1", "-", "\tx", "a=b", ["=x"])] == ["+1", "-", "'\tx", "a=b", '["=x"]']


def test_answers_that_a_spreadsheet_would_run_are_escaped_and_counted(
    reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Predictor,
        "answers_and_truncated",
        lambda _, rows, features: ([Answer(value="=A1()")] * len(rows), [False] * len(rows)),
    )
    path = written(tmp_path / "new.csv", [("review", "prediction"), ("=the cat", "=1+1"), ("the dog", "x")])
    found = predict(reviewer, path, tmp_path / "out.csv")
    (first, second) = read(tmp_path / "out.csv")
    assert (first["review"], first["prediction"], first["predicted prediction"]) == ("=the cat", "=1+1", "'=A1()")
    assert second["predicted prediction"] == "'=A1()"
    assert any("2 cells" in note for note in found.notes)


def test_gzip_in_and_out_in_place(reviewer: Predictor, tmp_path: Path) -> None:
    (tmp_path / "new.csv.gz").write_bytes(gzip.compress(b"review\nthe cat sat\nthe dog sat\n"))
    predict(reviewer, tmp_path / "new.csv.gz", tmp_path / "out.tsv.gz")
    lines = list(
        csv.DictReader(io.StringIO(gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()).decode()), delimiter="\t")
    )
    assert [line["prediction"] for line in lines] == ["good", "bad"]
