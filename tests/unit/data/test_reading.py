"""Files of every format: what is detected and what is read."""

import gzip
import json
import os
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from support.files import as_csv, cells, write

from finetune.data.checksums import sha256_of
from finetune.data.detect import BY_SUFFIX
from finetune.data.formats.dialect import Dialect
from finetune.data.reading import first_rows, read_table, survey
from finetune.data.records import column_names
from finetune.data.writing import write_rows
from finetune.errors import UserError
from finetune.task_types.guess import guess

ROWS = [["text", "label"], ["a fine film, really", "pos"], ['the "worst" of all', "neg"], ["two\nlines", "pos"]]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_delimiters_and_encodings(tmp_path: Path, delimiter: str, encoding: str) -> None:
    table = read_table(write(tmp_path / "rows.txt", as_csv(ROWS, delimiter), encoding))
    assert table.form.layout == Dialect(delimiter=delimiter, quoted=True)
    assert list(table.columns) == ROWS[0]
    assert cells(table) == ROWS[1:]
    assert list(table.lines) == [2, 3, 4]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp949", "정말 재미있는 영화였다"),
        ("latin-1", "un très beau café à Orléans"),
        ("utf-8", "정말 재미있는 영화였다"),
    ],
)
def test_other_encodings_are_seen_and_said(tmp_path: Path, encoding: str, text: str) -> None:
    table = read_table(write(tmp_path / "rows.csv", f"text,label\n{text},1\n{text}!,0\n", encoding), encoding)
    assert table.form.encoding == encoding
    assert table.columns["text"] == [text, f"{text}!"]
    assert {"cp949": "CP949", "latin-1": "LATIN-1", "utf-8": "UTF-8"}[encoding] in str(table.form)


def test_names_of_columns_are_composed(tmp_path: Path) -> None:
    table = read_table(
        write(tmp_path / "nfd.csv", unicodedata.normalize("NFD", "문장,라벨\n가 나 다,좋음\n라 마 바,나쁨\n"))
    )
    assert list(table.columns) == ["문장", "라벨"]
    assert guess(table, {"label": unicodedata.normalize("NFD", "라벨")}).label == ("라벨",)


def test_one_bad_byte_spoils_one_row(tmp_path: Path) -> None:
    lines = [f"좋은 영화 {i},1".encode() for i in range(50)]
    lines[20] = b"\xff\xfe broken,1"
    table = read_table(write(tmp_path / "rows.csv", b"text,label\n" + b"\n".join(lines)))
    assert table.form.encoding == "utf-8"
    assert table.form.damaged
    assert [(fault.row, fault.line) for fault in table.faults] == [(21, 22)]
    assert len(table) == 49


def test_lines_above_a_header_are_counted_in_line_numbers(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "a.csv", "# made by a tool\n# today\ntext,label\none,a\ntwo,b\nthree\n"))
    assert table.columns == {"text": ["one", "two"], "label": ["a", "b"]}
    assert (list(table.lines), [(fault.row, fault.line) for fault in table.faults]) == ([4, 5], [(3, 6)])


def test_a_title_above_a_table_hides_no_columns(tmp_path: Path) -> None:
    rows = ["Nr;Free text;Topic;", *(f"{n};the soup, it was {n};{'ab'[n % 2]};" for n in range(9))]
    table = read_table(write(tmp_path / "a.csv", "\n".join(["Export of survey 12", *rows]) + "\n"))
    assert (table.form.layout.skip, table.columns["Topic"][:2], len(table)) == (1, ["a", "b"], 9)
    texts = ["It was so good", *(f"the soup, it was {n}" for n in range(9))]
    assert read_table(write(tmp_path / "b.txt", "\n".join(texts) + "\n")).form.layout.skip == 0


def test_quotes_that_mean_nothing(tmp_path: Path) -> None:
    text = 'text\tlabel\n"Hello" he said\t1\nno 5" disk\t0\n"never closed\t1\nlast\t0\n'
    table = read_table(write(tmp_path / "rows.tsv", text))
    assert not table.form.layout.quoted
    assert table.columns["text"] == ['"Hello" he said', 'no 5" disk', '"never closed', "last"]


def test_a_quote_that_is_not_closed_spoils_its_row_alone(tmp_path: Path) -> None:
    rows = [f'"row, {i}",{i % 2}' for i in range(3000)]
    rows[100] = '"row 100,1'
    table = read_table(write(tmp_path / "rows.csv", "text,label\n" + "\n".join(rows) + "\n"))
    assert [(fault.row, fault.line) for fault in table.faults] == [(101, 102)]
    assert len(table) == 2999
    assert table.columns["text"][101] == "row, 102" or table.columns["text"][100] == "row, 101"


def test_a_quoted_cell_may_have_any_number_of_lines(tmp_path: Path) -> None:
    long = "\n".join(f"line {i}, of many" for i in range(5_000))
    table = read_table(write(tmp_path / "rows.csv", as_csv([["text", "label"], [long, "a"], ["short", "b"]])))
    assert table.columns == {"text": [long, "short"], "label": ["a", "b"]}
    rows = ['"this is not closed,a', *(f"row {i},b" for i in range(1_500)), *['"x, ""y""",a'] * 300]
    table = read_table(write(tmp_path / "open.csv", "text,label\n" + "\n".join(rows)))
    assert [fault.row for fault in table.faults] == [1]
    assert (len(table), table.columns["text"][-2:]) == (1_800, ['x, "y"'] * 2)


def test_a_wrong_number_of_cells_is_a_fault_of_that_row(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "rows.csv", "text,label\na,1\nb\nc,1,2\nd,0\n"))
    assert [(fault.row, fault.line) for fault in table.faults] == [(2, 3), (3, 4)]
    assert "found 3" in table.faults[1].fault.what
    assert table.columns["text"] == ["a", "d"]
    assert list(table.rows) == [1, 4]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("text,label\ngood,1\nbad,0\n", True),
        ("good film,1\nbad film,0\nfine,1\n", False),
        ("a b c\nd e f\n", False),
        ("0,1\ngood film,1\nbad film,0\nfine film,1\n", True),  # as pandas numbers columns
        (",0,1\n0,good film,1\n1,bad film,0\n2,fine film,1\n", True),
        ("text,good\na film,good\nthe film,bad\none film,bad\n", True),  # a label is the name of its column
        ("text,2021,2022\na film,1,0\nthe film,0,1\none film,0,0\n", True),
        ("3,1\ngood film,1\nbad film,0\nfine film,1\n", False),
    ],
)
def test_a_missing_header_is_seen(tmp_path: Path, text: str, header: bool) -> None:
    table = read_table(write(tmp_path / "rows.csv", text))
    assert table.form.layout.header is header
    assert len(table) == text.count("\n") - header


def test_names_of_columns_are_trimmed_filled_and_distinct(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "rows.csv", "\ufeff text , label,,label\na,1,x,2\n"))
    assert list(table.columns) == ["text", "label", "column 3", "label 4"]
    names = list(read_table(write(tmp_path / "again.csv", "a 3,b,a 3,a\n1,2,3,4\n")).columns)
    assert len(set(names)) == 4
    assert column_names(["a", "a 3", "a"]) == ["a", "a 3", "a 3 3"]


def test_json_lines_are_known_whatever_their_first_line_is(tmp_path: Path) -> None:
    rows = [json.dumps({"text": f"row {i}", "label": i}) for i in range(9)]
    for name, first in (("a.jsonl", "{broken"), ("b.txt", "what is this"), ("c.jsonl", "[1, 2]")):
        table = read_table(write(tmp_path / name, "\n".join([first, *rows])))
        assert (table.form.format.name, len(table), [fault.row for fault in table.faults]) == ("json-lines", 9, [1])
    long = json.dumps({"text": "x" * 300_000, "label": 1})
    for name in ("long.jsonl", "long.json", "long.txt"):
        assert len(read_table(write(tmp_path / name, "\n".join([long, *rows])))) == 10
    indented = write(tmp_path / "indented.txt", json.dumps({"data": [{"text": "a"}, {"text": "b"}]}, indent=2))
    assert read_table(indented).form.format.name == "json"


def test_json_lines_with_other_keys_in_some_rows(tmp_path: Path) -> None:
    lines = ['{"text": "a", "label": 1}', "{broken", '{"text": "b", "more": [1]}', "[1, 2]", "", '{"text": "\\ud800"}']
    table = read_table(write(tmp_path / "rows.jsonl", "\n".join(lines)))
    assert table.columns == {"text": ["a", "b"], "label": [1, None], "more": [None, [1]]}
    assert [(fault.row, fault.line) for fault in table.faults] == [(2, 2), (4, 4), (5, 6)]


OBJECTS = [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}]


@pytest.mark.parametrize(
    "content",
    [
        {"train": OBJECTS, "notes": OBJECTS},
        {"positives": OBJECTS, "negatives": OBJECTS},
        {"train": [["a", "x"], ["b", "y"]], "notes": [["c", "x"], ["d", "y"]]},
        {"train": OBJECTS, "test": OBJECTS, "labels": ["x", "y"]},
    ],
)
def test_lists_of_rows_are_no_columns_although_they_are_as_long(tmp_path: Path, content: Any) -> None:
    with pytest.raises(UserError, match="without a list of rows; it holds the lists"):
        read_table(write(tmp_path / "rows.json", json.dumps(content)))


def test_columns_of_objects_and_lists_are_columns(tmp_path: Path) -> None:
    of_lists = {"tokens": [["a"], ["b"]], "tags": [["O"], ["O"]]}
    of_objects = {"test": ["blood", "urine"], "answers": [{"text": "a"}, {"text": "b"}]}
    for content in (of_lists, of_objects):
        found = read_table(write(tmp_path / "rows.json", json.dumps(content))).columns
        assert {name: found[name] for name in content} == content


PACKED = gzip.compress(random.Random(0).randbytes(1 << 21).hex().encode(), mtime=0)  # more than is seen at first


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "is empty"),
        ("blank.csv", b"\n \n\t\n", "is empty"),
        ("header.csv", b"text,label\n", "has no rows"),
        ("old.xls", b"\xd0\xcf\x11\xe0rest", "old Excel"),
        ("pages.pdf", b"%PDF-1.4 rest", "PDF"),
        ("cut.csv.gz", gzip.compress(b"text,label\n" * 1000, mtime=0)[:-20], "cannot be read"),
        ("bad.csv.gz", PACKED[:3000] + b"\xff" * 99 + PACKED[3099:], "cannot be read"),
        ("late.csv.gz", PACKED[:-3000] + b"\xff" * 99 + PACKED[-2901:], "cannot be read"),
        ("cut.xlsx", b"PK\x03\x04 xl/ and so on", "not a valid Excel"),
        ("wide.txt", "\u3000\n\u3000".encode(), "is empty"),
        ("cut.parquet", b"PAR1rest", "not a valid Parquet"),
        ("cut.json", b'[{"text": "a"}', "is not JSON"),
        ("number.json", b"[\n3\n", "is not JSON"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        read_table(write(tmp_path / name, content))
    assert name in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", sorted(BY_SUFFIX))
def test_what_is_written_in_a_format_is_read_again(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{suffix}"
    texts = [f"a row of words, number {i}" for i in range(30)]
    rows = [{"text": text, "label": "ab"[i % 2]} for i, text in enumerate(texts)]
    if suffix == ".conll":
        write_rows(path, [{"words": text.split(), "prediction": ["O"] * 6} for text in texts], ["words", "prediction"])
        assert read_table(path).columns["words"] == [text.split() for text in texts]
        return
    assert write_rows(path, rows, ["text", "label"]) == 0
    table = read_table(path)
    assert table.columns == {name: [row[name] for row in rows] for name in ("text", "label")}
    assert table.form.format is BY_SUFFIX[suffix]
    assert survey(path, table.form) == (30, {"text", "label"})
    assert list(first_rows(path, table.form, most=5).rows) == [1, 2, 3, 4, 5]


def test_a_sign_between_digits_alone_is_no_delimiter(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("the cat sat;0,10\nthe dog ran;2,43\nthe man saw;3,5\n")
    assert next(iter(read_table(tmp_path / "a.csv").columns.values()))[-1] == "the man saw"
    (tmp_path / "b.csv").write_text("1,2\n3,4\n")
    assert list(read_table(tmp_path / "b.csv").columns.values()) == [["1", "3"], ["2", "4"]]


def test_a_file_of_the_same_size_and_time_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("text,label\na,1\n")
    before, times = sha256_of(file), file.stat()
    file.write_text("text,label\nb,0\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert sha256_of(file) != before
