"""A file may ask for anything; what it gets is bounded, and what is refused is one line."""

import gzip
import io
import os
import re
import resource
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cli import Finetune, assert_error

from finetune.data import records as bounds
from finetune.data.detect import detect
from finetune.data.reading import read_table, records, survey
from finetune.errors import UserError

SPARE = 3 << 30  # bytes of address space that a test may take


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """Address space is limited, so that a file which takes gigabytes fails instead of filling the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def refused(path: Path) -> str:
    with pytest.raises(UserError) as error:
        read_table(path)
    assert "\n" not in str(error.value) and len(str(error.value)) < 1_000
    return str(error.value)


def written(path: Path, *parts: str | bytes) -> Path:
    with path.open("wb") as file:
        for part in parts:
            file.write(part if isinstance(part, bytes) else part.encode())
    return path


ROWS = [f"the cat sat {i},{'good' if i % 2 else 'bad'}\n" for i in range(40)]


def test_a_bomb_of_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    part = gzip.compress(b"a line of text,b\n" * (1 << 20))
    path.write_bytes(gzip.compress(b"text,label\n") + 16 * part)  # a file may have several parts
    assert "compressed bytes expand" in refused(path)
    with gzip.open(path, "wt") as text:  # much the same, but no more than a text may
        text.write("text,label\n" + "".join(ROWS) * 100)
    assert len(read_table(path)) == 4_000


@pytest.mark.parametrize(
    ("name", "parts", "said"),
    [
        ("wide.csv", [",".join(f"{a} {i}" for i in range(25_000)) + "\n" for a in "ab"], "more than 20,000 columns"),
        ("name.csv", [f"text,{'x' * 1_000_000}\n", *ROWS], "has 1,000,000 characters"),
        ("keys.jsonl", [f'{{"text": "a cat", "k{i}": 1}}\n' for i in range(100_000)], "nearly all of them empty"),
        ("deep.json", ["[" * 100_000, "]" * 100_000], "is not JSON"),
        *[(f"long{end}", [begin, *[b"a" * (1 << 20)] * 70], "a line of more than 64 MB")
          for end, begin in ((".csv", "text,label\n"), (".jsonl", '{"text": "'), (".txt", ""))],
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)  # fmt: skip
def test_lines_columns_and_depth_are_bounded(name: str, parts: list[str | bytes], said: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, *parts)
    assert said in refused(path)
    if name == "keys.jsonl":
        with pytest.raises(UserError, match=said):
            survey(path, detect(path))


@pytest.mark.parametrize(("suffix", "row"), [(".csv", "a\n"), (".jsonl", "{\n")])
def test_more_faults_than_rows_of_a_file_end_its_reading(
    tmp_path: Path, suffix: str, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MOST_FAULTS", 1_000)
    begin = ["text,label\n", *ROWS] if suffix == ".csv" else ['{"text": "the cat"}\n'] * 100
    path = written(tmp_path / f"faults{suffix}", *begin, *[row] * 1_000)
    assert len(read_table(path).faults) == 1_000
    assert "more than 1,000 rows cannot be read" in refused(written(path, *begin, *[row] * 1_001))


def xlsx(path: Path, change: Callable[[str], str] = str) -> Path:
    """A sheet of two columns, its XML changed."""
    book = openpyxl.Workbook()
    for row in [("text", "label"), ("the cat", "good"), ("the dog", "bad")]:
        book.active.append(row)
    whole = io.BytesIO()
    book.save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for part in old.infolist():
            content = old.read(part)
            new.writestr(part, change(content.decode()) if "sheet1" in part.filename else content)
    return path


CELL = '<c r="{0}{1}" t="inlineStr"><is><t>far</t></is></c>'


def far(column: str, row: int) -> Callable[[str], str]:
    cell = f'<row r="{row}">{CELL.format(column, row)}</row></sheetData>'
    return lambda xml: xml.replace("</sheetData>", cell)


def test_a_far_cell_of_a_sheet_costs_nothing(tmp_path: Path) -> None:
    claimed = xlsx(tmp_path / "claimed.xlsx", lambda xml: xml.replace('ref="A1:B3"', 'ref="A1:XFD1048576"'))
    for path in (claimed, xlsx(tmp_path / "right.xlsx", far("XFD", 4)), xlsx(tmp_path / "wild.xlsx", far("ZZZ", 4))):
        table = read_table(path)
        assert {name: table.columns[name][:2] for name in ("text", "label")} == {
            "text": ["the cat", "the dog"],
            "label": ["good", "bad"],
        }
        assert len(table.columns) == 2
    assert list(read_table(xlsx(tmp_path / "low.xlsx", far("A", 1_048_576))).lines) == [2, 3, 1_048_576]
    assert "has a row below" in refused(xlsx(tmp_path / "lower.xlsx", far("A", 10**12)))
    header = '<c r="XFD1" t="inlineStr"><is><t>far</t></is></c></row><row r="2"'
    path = xlsx(tmp_path / "header.xlsx", lambda xml: xml.replace('</row><row r="2"', header))
    assert "a cell in column 16,384" in refused(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    [
        {"text": ["the cat sat. " * 800] * 10_000},
        {"text": ["a"] * 100, "one": [{"a": [{"b": "the cat sat. " * 8_000}] * 10}] * 100},
        {"text": ["a"] * 100, "m": pa.array([[("k", "the cat " * 90_000)]] * 100, pa.map_(pa.string(), pa.string()))},
        {"text": ["a"] * 1_100_000},
    ],
)
def test_parquet_of_few_bytes_that_repeats_its_cells_is_refused(columns: Any, tmp_path: Path) -> None:
    """It would take gigabytes or hours; equal cells are stored once."""
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 40_000
    assert re.search(r"compressed bytes expand|declares 1,100,000 rows", refused(tmp_path / "a.parquet"))


def test_parquet_is_read_as_pyarrow_does(tmp_path: Path) -> None:
    rows = [
        {"text": text, "b": b"\x00", "n": None, "l": [text], "s": {"a": text, "b": [1.5]}, "c": "x"}
        for text in ("a", None, "한", "a", "")
    ]
    table = pa.Table.from_pylist(rows)
    table = table.set_column(5, "c", table["c"].dictionary_encode())
    pq.write_table(table, tmp_path / "a.parquet")
    found = records(tmp_path / "a.parquet", detect(tmp_path / "a.parquet"))
    assert [record.values for record in found] == rows


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "folder"])
def test_what_is_no_regular_file_is_refused_at_once(kind: str, tmp_path: Path, here: Finetune, reviews: Path) -> None:
    """Opening a pipe waits for a writer, and a device has no end."""
    path = tmp_path / "rows.csv"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(str(path))
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    for command in (["check", path], ["run", path], ["predict", reviews, path], ["evaluate", reviews, path]):
        done = here(*command)
        assert done.returncode == 2, command
        assert_error(done.stderr, str(path))
