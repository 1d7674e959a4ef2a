"""Files of every format: what is detected, what is read, what is a fault, and what was written read again."""

import gzip
import json
import os
import random
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.files import as_csv, cells, write
from support.fuzzed_files import fuzz_data_files
from support.fuzzing import DAMAGES

from finetune.commands.check import findings as checking
from finetune.data.checksums import sha256_of
from finetune.data.detect import BY_SUFFIX, detect
from finetune.data.reading import first_rows, read_table, survey, table_of
from finetune.data.writing import write_rows
from finetune.errors import UserError
from finetune.inference.predictor import Predictor

LONG = "\n".join(f"line {i}, of many" for i in range(5_000))
UNCLOSED = [f'"row, {i}",{i % 2}' for i in range(3000)]
UNCLOSED[100] = '"row 100,1'
KEPT = [*range(100), *range(101, 3000)]
NINE = [json.dumps({"text": f"row {i}", "label": i}) for i in range(9)]
BROKEN = ['{"text": "a", "label": 1}', "{broken", '{"text": "b", "more": [1]}', "[1, 2]", "", '{"text": "\\ud800"}']


@pytest.mark.parametrize(
    ("name", "content", "expected", "faults"),
    [
        # Lines above a header are counted in line numbers.
        ("a.csv", "# made by a tool\n# today\ntext,label\none,a\ntwo,b\nthree\n",
         {"text": ["one", "two"], "label": ["a", "b"]}, [(3, 6)]),
        # Quotes that mean nothing, and one that is not closed, which spoils its row alone.
        ("a.tsv", 'text\tlabel\n"Hello" he said\t1\nno 5" disk\t0\n"never closed\t1\nlast\t0\n',
         {"text": ['"Hello" he said', 'no 5" disk', '"never closed', "last"], "label": ["1", "0", "1", "0"]}, []),
        ("a.csv", "text,label\n" + "\n".join(UNCLOSED) + "\n",
         {"text": [f"row, {i}" for i in KEPT], "label": [f"{i % 2}" for i in KEPT]},
         [(101, 102)]),
        ("a.csv", as_csv([["text", "label"], [LONG, "a"], ["short", "b"]]),
         {"text": [LONG, "short"], "label": ["a", "b"]}, []),
        ("a.csv", 'text\na cat\n""\n\na dog\n', {"text": ["a cat", "", "a dog"]}, []),  # an empty line is no row
        ("a.csv", "text,label\na,1\nb\nc,1,2\nd,0\n", {"text": ["a", "d"], "label": ["1", "0"]}, [(2, 3), (3, 4)]),
        ("a.csv", "\ufeff text , label,,label\na,1,x,2\n",
         {"text": ["a"], "label": ["1"], "column 3": ["x"], "label 4": ["2"]}, []),
        ("a.csv", unicodedata.normalize("NFD", "문장,라벨\n") + "가,좋음\n", {"문장": ["가"], "라벨": ["좋음"]}, []),
        ("a.jsonl", "\n".join(BROKEN), {"text": ["a", "b"], "label": [1, None], "more": [None, [1]]},
         [(2, 2), (4, 4), (5, 6)]),
        *[(name, "\n".join([begin, *NINE]), {"text": [f"row {i}" for i in range(9)], "label": [*range(9)]}, [(1, 1)])
          for name, begin in (("a.jsonl", "{broken"), ("b.txt", "what is this"), ("c.jsonl", "[1, 2]"))],
        ("long.txt", json.dumps({"text": "x" * 300_000, "label": 9}) + "\n" + "\n".join(NINE),
         {"text": ["x" * 300_000, *(f"row {i}" for i in range(9))], "label": [9, *range(9)]}, []),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)  # fmt: skip
def test_columns_and_faults(
    name: str, content: str, expected: dict[str, list[Any]], faults: list[tuple[int, int]], tmp_path: Path
) -> None:
    table = read_table(write(tmp_path / name, content))
    assert [(fault.row, fault.line) for fault in table.faults] == faults
    assert table.columns == expected
    assert len(table.lines) == len(table) == len(next(iter(expected.values())))


def test_one_bad_byte_spoils_one_row(tmp_path: Path) -> None:
    lines = [f"좋은 영화 {i},1".encode() for i in range(50)]
    lines[20] = b"\xff\xfe broken,1"
    table = read_table(write(tmp_path / "rows.csv", b"text,label\n" + b"\n".join(lines)))
    assert (table.form.encoding, table.form.damaged, len(table)) == ("utf-8", True, 49)
    assert [(fault.row, fault.line) for fault in table.faults] == [(21, 22)]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("text,label\ngood,1\nbad,0\n", True),
        ("good film,1\nbad film,0\nfine,1\n", False),
        ("0,1\ngood film,1\nbad film,0\nfine film,1\n", True),  # as pandas numbers columns
        (",0,1\n0,good film,1\n1,bad film,0\n2,fine film,1\n", True),
        ("text,good\na film,good\nthe film,bad\none film,bad\n", True),  # a label is the name of its column
        ("3,1\ngood film,1\nbad film,0\nfine film,1\n", False),
    ],
)
def test_a_missing_header_is_seen(text: str, header: bool, tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "rows.csv", text))
    assert (table.form.layout.header, len(table)) == (header, text.count("\n") - header)


OBJECTS = [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}]
PACKED = gzip.compress(random.Random(0).randbytes(1 << 21).hex().encode(), mtime=0)  # more than is seen at first
NO_ROWS = "without a list of rows; it holds the lists"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        *[("a.csv", content, "is empty") for content in (b"", b"\n \n\t\n", "\u3000\n\u3000".encode())],
        ("header.csv", b"text,label\n", "has no rows"),
        ("old.xls", b"\xd0\xcf\x11\xe0rest", "old Excel"),
        ("cut.csv.gz", gzip.compress(b"text,label\n" * 1000, mtime=0)[:-20], "cannot be read"),
        ("bad.csv.gz", PACKED[:3000] + b"\xff" * 99 + PACKED[3099:], "cannot be read"),
        ("cut.xlsx", b"PK\x03\x04 xl/ and so on", "not a valid Excel"),
        ("cut.parquet", b"PAR1rest", "not a valid Parquet"),
        ("cut.json", b'[{"text": "a"}', "is not JSON"),
        ("a.json", json.dumps({"train": OBJECTS, "notes": OBJECTS}).encode(), NO_ROWS),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said) as error:
        read_table(write(tmp_path / name, content))
    assert name in str(error.value) and "\n" not in str(error.value)


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
    before, times = sha256_of(path), path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert sha256_of(path) != before  # a file of the same size and time is read again


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.sampled_from(
    ["\r", "a\rb", "\r\n"]
)
LABELLED = st.lists(st.tuples(TEXT, st.sampled_from("ab")), min_size=3, max_size=20)


@settings(
    max_examples=60, deadline=5_000, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(rows=LABELLED)
def test_what_was_written_as_csv_is_read_as_it_was(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    path, texts = tmp_path / "round.csv", [[f"t {text}", label] for text, label in rows]
    write_rows(path, [{"text": text, "label": label} for text, label in texts], ["text", "label"])
    if detect(path).layout.quoted:  # else no cell needed quotes
        assert cells(read_table(path)) == texts


@pytest.mark.slow
def test_damaged_files_of_every_format_end_in_one_line(
    tmp_path: Path, tiny_bert: Path, reviewer: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "load_fast_tokenizer", lru_cache(maxsize=1)(checking.load_fast_tokenizer))
    found = fuzz_data_files(80, seed=0, folder=tmp_path, model=tiny_bert, predictor=reviewer)
    assert (found.tried, found.survived) == (80, 80)
    assert min(found.refused, found.accepted) > 10
    assert len(found.kinds) == len(DAMAGES)


def test_a_file_that_is_written_again_in_a_folder_is_read_again(tmp_path: Path) -> None:
    """Its folder's time stays the same, and a notebook's process goes on."""
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for number in range(3):
            (tmp_path / label / f"{number}.txt").write_text(f"text {number} of {label}")
    before = table_of(tmp_path)
    assert table_of(tmp_path) is before
    (tmp_path / "a" / "1.txt").write_text("another one")
    assert "another one" in table_of(tmp_path).columns["text"]
