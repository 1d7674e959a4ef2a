"""`finetune check`: faults of a file, its encoding, header and rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import Check, found, labels, reviews, texts, write_csv, write_jsonl

from finetune.commands.check import as_json


def test_rows_that_cannot_be_read_are_found_in_their_rows_and_lines(tmp_path: Path, check: Check) -> None:
    path = write_csv(tmp_path / "bad.csv", [["text", "label"], *zip(texts(60), labels(60), strict=True)], quote=True)
    lines = path.read_text().splitlines()
    lines[3] = '"a cell too many","good","more"'
    lines[7] = '"a quote that is not closed,good'  # it would end where that of the next row begins
    lines[20:22] = ['"another that is not closed,good', '"though, this has a comma","bad"']
    lines[11] = '"bytes of another encoding: \udcff\udcfe","bad"'
    lines[12:14] = ['"a cell of two', 'lines and é è ê ë","good"']
    path.write_bytes(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    report = check(path)
    expected = {"cells": (3,), "quote": (7, 19), "bytes": (11,)}
    assert {code: found(report).get(code) for code in expected} == expected
    (finding,) = (finding for finding in report.findings if finding.code == "quote")
    assert finding.lines == (8, 21)
    write_csv(path, [["text", "label"], ["two\nlines", "good"], ["three", "bad"], ["", "good"]])
    (finding,) = (finding for finding in check(path).findings if finding.code == "missing-text")
    assert (finding.rows, finding.lines, finding.count) == ((3,), (5,), 1)


@pytest.mark.parametrize(
    ("header", "codes"),
    [
        ("text,label", set()),
        ("\ufeff text,label ", set()),
        ("text,,label", {"header-empty"}),
        ("text,text,label", {"header-double"}),
    ],
)
def test_faults_of_a_header(header: str, codes: set[str], tmp_path: Path, check: Check) -> None:
    extra = header.count(",") == 2
    rows = [f"{text},{'more ' * extra}{',' * extra}{label}" for text, label in zip(texts(40), labels(40), strict=True)]
    (tmp_path / "a.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    report = found(check(tmp_path / "a.csv", text="text", label="label"))
    assert {code for code in report if code.startswith("header")} == codes


def test_a_file_without_a_header_and_one_in_another_encoding_are_noted(tmp_path: Path, check: Check) -> None:
    rows = "".join(f"{text} é,{i % 2}\n" for i, text in enumerate(texts(40)))
    (tmp_path / "a.csv").write_bytes(rows.encode("latin-1"))
    report = check(tmp_path / "a.csv", encoding="latin-1")
    assert {"no-header", "encoding"} <= set(found(report, "note"))
    assert set(found(report, "error", "warning")) == {"vocabulary"}  # of random letters


def test_a_file_of_windows_is_read_as_such(tmp_path: Path, check: Check) -> None:
    rows = "".join(f"“{text}”,{i % 2}\n" for i, text in enumerate(texts(40)))
    (tmp_path / "a.csv").write_bytes(f"text,label\n{rows}".encode("cp1252"))
    report = check(tmp_path / "a.csv", encoding="cp1252")
    (what,) = [finding.what for finding in report.findings if finding.code == "encoding"]
    assert what.startswith(f"the file is read as CP1252, such as '“{texts(40)[0][:9]}")


def test_columns_that_were_given_have_no_reason_of_their_own(tmp_path: Path, check: Check) -> None:
    rows = [[text, i % 3 and "", "x" if i % 2 else ""] for i, text in enumerate(texts(40))]
    path = write_csv(tmp_path / "a.csv", [["text", "one", "other"], *rows])
    reasons = check(path, text="text", label="one,other").layout.reasons
    assert reasons == {"text": "given", "label": "given", "shape": "2 label columns"}


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        ([{"question": "who?", "context": "the cat"}, {"question": "why?", "context": "the dog"}], {}),
        ([{"text": "a", "pair": {}, "label": 1}, {"text": "b", "pair": ["c"], "label": 0}], {"text": "text,pair"}),
        ([{"words": ["a", "b"]}, {"words": ["c"]}], {"shape": "tagging", "text": "words"}),
        ([{"text": "a", "label": None}, {"text": "b", "label": None}], {"label": "label"}),
        ([{"text": "a", "label": "b"}, {"text": [1], "label": [2]}], {"text": "text", "label": "label"}),
    ],
)
def test_odd_data_is_checked_to_the_end(
    rows: list[dict[str, Any]], settings: dict[str, str], tmp_path: Path, check: Check
) -> None:
    report = check(write_jsonl(tmp_path / "a.jsonl", rows), **settings)
    assert report.fails(strict=True)
    json.dumps(next(as_json(report)))


def test_a_damaged_file_in_utf_16_is_checked(tmp_path: Path, check: Check) -> None:
    content = reviews(tmp_path / "a.csv").read_text().encode("utf-16")
    line = content.index("\n".encode("utf-16-le"), 400) + 2
    (tmp_path / "a.csv").write_bytes(content[:line] + b"\x00\xdc" + content[line + 2 :])
    report = found(check(tmp_path / "a.csv"))
    assert len(report["bytes"]) == 1 and "encoding" in report
