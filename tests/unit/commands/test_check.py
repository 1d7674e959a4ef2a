"""`finetune check --fix`: what is fixed, what is kept, and what is not written."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import Check, found, labels, questions, reviews, tagged, texts, write_csv, write_jsonl
from support.cli import InProcess, assert_error

from finetune.commands.check.fix import write_fixed
from finetune.data.reading import read_table


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["good.csv", "--fix", "new.docx"], "new.docx"),
        (["lists.jsonl", "--fix", "new.csv"], ".jsonl"),
        (["folder", "--fix", "new.csv"], "folder"),
        (["zip.csv"], "zip.csv"),
    ],
)
def test_what_cannot_be_checked_or_fixed_ends_with_2_and_writes_nothing(
    arguments: list[str], named: str, in_process: InProcess, tmp_path: Path, tiny_bert: Path
) -> None:
    reviews(tmp_path / "good.csv")
    reviews(tmp_path / "folder" / "train.csv")
    write_jsonl(tmp_path / "lists.jsonl", tagged(20))
    (tmp_path / "zip.csv").write_bytes(b"PK\x03\x04 and more")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    code, out, err = in_process("check", *arguments, f"model={tiny_bert}", data=tmp_path)
    assert (code, out) == (2, "")
    assert_error(err, named)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


FIXED = ["cells", "quote", "bytes", "missing-text", "missing-label", "control", "not-nfc", "label-variant", "duplicate"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx", ".csv.gz"])
def test_what_is_fixed_is_not_found_again(
    suffix: str, in_process: InProcess, tmp_path: Path, check: Check, tiny_bert: Path
) -> None:
    many = texts(60)
    rows = [[f"{text}, é {i}", label] for i, (text, label) in enumerate(zip(many, labels(60), strict=True))]
    rows[4][0], rows[5][1], rows[6][1], rows[7][1] = " ", "", "GOOD", " good "
    rows[8][0], rows[9][0] = f"a\0b \u200b{many[0][::-1]}", unicodedata.normalize("NFD", f"é {many[1][::-1]}")
    rows[13], rows[15] = rows[11], [f"  {rows[11][0]}", f"{rows[11][1].upper()}"]
    path = write_csv(tmp_path / "bad.csv", [[" text ", "label"], *rows], quote=True)
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[21], lines[23], lines[25] = '"one","two","three"', '"not closed,good', '"\udcff","good"'
    path.write_bytes(b"\xef\xbb\xbf" + ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    before, report = path.read_bytes(), check(path)
    assert set(FIXED) <= set(found(report))
    given = ("check", str(path), f"model={tiny_bert}", "--fix", f"fixed{suffix}", "--json")
    code, out, _ = in_process(*given, data=tmp_path)
    assert (code, path.read_bytes()) == (0, before)
    marked = {} if suffix.startswith(".csv") else {"byte-order mark removed": 1}
    assert json.loads(out)["fixes"] == marked | {
        "column names fixed": 1, "rows dropped that could not be read": 3, "cells without their control characters": 1,
        "cells normalised to NFC": 1, "cells without their outer spaces": 1, "rows dropped without a text": 1,
        "labels spelled as most rows have them": 1, "rows dropped without a label": 1,
        "rows dropped that repeat an earlier one": 2,
    }  # fmt: skip
    table = read_table(tmp_path / f"fixed{suffix}")
    assert set(FIXED) & set(found(check(tmp_path / f"fixed{suffix}"))) == set()
    assert (len(table), table.columns["text"][0], set(table.columns["label"])) == (53, rows[0][0], {"good", "bad"})


def test_contexts_with_places_of_answers_stay_as_they_are(tmp_path: Path, check: Check) -> None:
    rows = questions(30)
    rows[4]["context"] = unicodedata.normalize("NFD", "é\0 ") + rows[4]["context"]
    check(write_jsonl(tmp_path / "a.jsonl", rows)).fix(tmp_path / "b.jsonl")
    assert [json.loads(line) for line in (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()] == rows


def tagged_twice() -> list[dict[str, Any]]:
    words = ["she", "lived", "long", "in", "New", "York"]
    again = [{"words": words, "tags": ["O", "O", "O", "O", tag, "B-LOC"]} for tag in ("O", "B-LOC", "O")]
    rows = [*tagged(40), *again]
    rows[3]["words"][0] = "\u200b"
    return rows


def listed_labels() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"text": t, "labels": ["a", "b", "c"][i % 3 :]} for i, t in enumerate(texts(60))]
    rows[3]["labels"], rows[5] = ["A", "c "], rows[4]
    return rows


@pytest.mark.parametrize(
    ("rows", "fixes", "kept"),
    [
        (tagged_twice(), {"rows dropped with an empty word"}, 41),
        (listed_labels(), {"labels spelled as most rows have them", "cells without their outer spaces"}, 59),
    ],
)
def test_tags_and_lists_of_labels_are_fixed_as_json_lines(
    rows: list[dict[str, Any]], fixes: set[str], kept: int, tmp_path: Path, check: Check
) -> None:
    part = check(write_jsonl(tmp_path / "a.jsonl", rows)).parts[0]
    assert {*write_fixed(part, tmp_path / "b.jsonl")} == fixes | {"rows dropped that repeat an earlier one"}
    assert len(read_table(tmp_path / "b.jsonl")) == kept


BROKEN = "긍정 영화".encode().decode("latin-1")  # with control characters
ODD = {
    **{3: "cafÃ© au lait, twice", 5: "Ð¿Ñ€Ð¸Ð²ÐµÑ‚ is a word", 7: "itâ€™s fine, Â£5"},
    **{9: f" {'오랜만에 만난 친구'.encode('cp949').decode('latin-1')} ", 11: "移쒓뎄 and a few words "},
}


def test_mojibake_is_found_and_kept_as_it_is(tmp_path: Path, check: Check) -> None:
    report = check(reviews(tmp_path / "bad.csv", text=ODD, label={3: "GOOD", 5: BROKEN, 7: BROKEN}))
    assert found(report)["mojibake"] == tuple(ODD)
    assert write_fixed(report.parts[0], tmp_path / "fixed.csv")["cells kept as they are: mojibake"] == 7
    columns = read_table(tmp_path / "fixed.csv").columns
    assert [columns["text"][row - 1] for row in ODD] == list(ODD.values())
    assert (columns["label"][2], columns["label"][4]) == ("good", BROKEN)
