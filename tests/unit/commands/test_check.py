"""`finetune check`: exit codes, JSON, what a run refuses too, the tokens of an encoder, and a fixed copy."""

import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import (
    Check,
    found,
    korean,
    korean_encoder,
    labels,
    questions,
    reviews,
    severities,
    tagged,
    texts,
    write_csv,
    write_jsonl,
)
from support.cli import InProcess, assert_error

import finetune
from finetune.commands.check.fix import write_fixed
from finetune.data.reading import read_table


@pytest.mark.parametrize(
    ("count", "text", "expected"),
    [
        (400, {30: ""}, {"missing-text": "warning"}),
        (400, dict.fromkeys(range(3, 12, 2), texts(1)[0]), {"duplicate": "note"}),
        (400, {40: texts(1)[0]}, {"contradiction": "note"}),
        (60, dict.fromkeys(range(3, 23, 2), texts(1)[0]), {"duplicate": "warning"}),
        (60, dict.fromkeys(range(24, 34, 2), texts(1)[0]), {"contradiction": "warning", "duplicate": "warning"}),
        (60, dict.fromkeys(range(1, 41), ""), {"missing-text": "error"}),
    ],
)
def test_a_finding_is_as_severe_as_what_it_does_to_a_run(
    count: int, text: dict[int, object], expected: dict[str, str], tmp_path: Path, check: Check
) -> None:
    found_there = severities(check(reviews(tmp_path / "a.csv", count, text=text)))
    of_rows = {"missing-text", "duplicate", "contradiction"}
    assert {code: one for code, one in found_there.items() if code in of_rows} == expected


UNSOUND: list[tuple[str, str, list[dict[str, Any]], list[str]]] = [
    ("one-label", "'a'", [{"text": t, "labels": ["a"]} for t in texts(30)], []),
    ("one-label", "no label", [{"text": t, "labels": []} for t in texts(30)], []),
    ("one-label", "number", [{"text": t, "score": 1.5} for t in texts(30)], ["shape=regression"]),
    ("one-label", "entity", [{"words": t.split(), "tags": ["O"] * 12} for t in texts(30)], []),
    ("one-label", "answer", [{"question": t[:20], "context": t, "answers": []} for t in texts(30)], []),
    ("no-labels", "label", [{"text": t, "label": None} for t in texts(30)], ["label=label"]),
]


@pytest.mark.parametrize(("code", "named", "rows", "settings"), UNSOUND)
def test_a_run_refuses_what_check_calls_an_error(
    code: str, named: str, rows: list[dict[str, Any]], settings: list[str], in_process: InProcess, tmp_path: Path,
    tiny_bert: Path,
) -> None:  # fmt: skip
    write_jsonl(tmp_path / "a.jsonl", rows)
    given = ["a.jsonl", f"model={tiny_bert}", *settings]
    ended, out, _ = in_process("check", *given, "--json", data=tmp_path)
    (error,) = [one for one in json.loads(out)["findings"] if one["severity"] == "error"]
    assert (ended, error["code"]) == (1, code)
    for command in ("run", "init"):
        ended, _, err = in_process(command, *given, data=tmp_path)
        assert ended == 2
        assert_error(err, "a.jsonl", named, error["message"])


def test_json_is_one_object(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    reviews(tmp_path / "a.csv", count=1500, text=dict.fromkeys(range(1, 1201), ""))
    code, out, _ = in_process("check", "a.csv", f"model={tiny_bert}", "--json", data=tmp_path)
    said = json.loads(out)
    assert code == 1 and set(said) == {"files", "format", "rows", "layout", "findings", "counts"}
    assert (said["rows"], said["layout"]["text"], said["layout"]["reasons"]["label"]) == (
        {"train": 1500}, ["text"], "its name",
    )  # fmt: skip
    finding, *others = said["findings"]
    assert (finding["severity"], finding["code"], finding["count"]) == ("error", "missing-text", 1200)
    assert finding["rows"] == list(range(1, 1001)) and finding["lines"] == list(range(2, 1002))
    assert said["counts"]["error"] == 1 and sum(said["counts"].values()) == 1 + len(others)
    order = [one["severity"] for one in said["findings"]]
    assert order == sorted(order, key=["error", "warning", "note"].index)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["good.csv", "text=txet"], "'text'"),
        (["good.csv", "--fix", "new.docx"], "new.docx"),
        (["good.csv", "--fix", "nowhere/new.csv"], "nowhere/new.csv"),
        (["lists.jsonl", "--fix", "new.csv"], ".jsonl"),
        (["folder", "--fix", "new.csv"], "folder"),
        (["glue-rte", "--fix", "new.csv"], "--fix"),
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


def test_check_of_a_recipe_has_what_a_run_would_use(in_process: InProcess, rte: Path, tiny_bert: Path) -> None:
    _, out, _ = in_process("check", "glue-rte", f"model={tiny_bert}", "--json", data=rte)
    facts = json.loads(out)["facts"]
    assert (facts["train"]["rows"], facts["training"]["updates"], facts["model"]["layers"]) == (64, 6, 2)
    assert json.loads(out)["examples"][0]["tokens"][0][:4] == ["[CLS]", "the", "dog", "sat"]
    (preview,) = finetune.check("glue-rte", model=str(tiny_bert), data_folder=rte)
    assert json.loads(json.dumps(preview.facts)) == facts


def test_korean_is_checked_for_its_letters_and_its_tokenizer(tmp_path: Path, check: Check, tiny_bert: Path) -> None:
    rows = [[korean(i), "긍정" if i % 2 else "부정"] for i in range(60)]
    rows[4][0] = unicodedata.normalize("NFD", rows[4][0])
    rows[6][0], rows[8][0], rows[10][0] = (
        "ㅎㅏㄴㄱㅜㄱㅇㅓ ㅁㅜㄴㅈㅏㅇ",
        "정말 재미있다 ㅋㅋㅋ ㅠㅠ",
        "this one is in English",
    )
    path = write_csv(tmp_path / "a.csv", [["문장", "감정"], *rows])
    report = check(path)
    (finding,) = (finding for finding in report.findings if finding.code == "vocabulary")
    assert "model=klue/bert-base" in finding.remedy and finding.rows[:3] == (1, 2, 3)
    listed = found(report)
    assert (listed["not-nfc"], listed["jamo"], "unknown-tokens" in listed) == ((5,), (7,), False)  # which has the share
    pieces = check(path, model=str(korean_encoder(tiny_bert, tmp_path / "pieces", pieces=True)))
    assert "1.9 tokens" in next(one.what for one in pieces.findings if one.code == "vocabulary")
    whole = check(path, model=str(korean_encoder(tiny_bert, tmp_path / "whole", pieces=False)))
    assert "vocabulary" not in found(whole)


def test_lengths_and_unknown_tokens(tmp_path: Path, check: Check) -> None:
    reviews(tmp_path / "a" / "train.csv", text={3: "☃ " * 30})
    write_csv(tmp_path / "a" / "test.csv", [["text", "label"], *zip(texts(20, words=200), labels(20), strict=True)])
    report = check(tmp_path / "a", max_length=256)
    of_code = [
        (one.code, Path(one.file).stem) for one in report.findings if "token" in one.code or one.code == "windows"
    ]
    assert sorted(of_code) == [
        ("token-lengths", "test"), ("token-lengths", "train"), ("unknown-tokens", "train"), ("windows", "test"),
    ]  # fmt: skip
    assert next(one.rows for one in report.findings if one.code == "unknown-tokens") == (3,)
    pairs = [list(row) for row in zip(texts(60, words=3), texts(60, words=3, seed=2), labels(60), strict=True)]
    pairs[8][1] = "the cat " * 40
    path = write_csv(tmp_path / "b.csv", [["sentence1", "sentence2", "label"], *pairs])
    assert [found(check(path, max_length=length), "warning").get("cut") for length in (128, 80)] == [None, (9,)]


FIXED = (
    *("cells", "quote", "bytes", "missing-text", "missing-label", "control"),
    *("not-nfc", "label-variant", "duplicate"),
)


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
        (tagged_twice(), {"rows dropped that repeat an earlier one": 1, "rows dropped with an empty word": 1}, 41),
        (
            listed_labels(),
            {
                "rows dropped that repeat an earlier one": 1,
                "labels spelled as most rows have them": 1,
                "cells without their outer spaces": 1,
            },
            59,
        ),
    ],
)
def test_tags_and_lists_of_labels_are_fixed_as_json_lines(
    rows: list[dict[str, Any]], fixes: dict[str, int], kept: int, tmp_path: Path, check: Check
) -> None:
    part = check(write_jsonl(tmp_path / "a.jsonl", rows)).parts[0]
    assert write_fixed(part, tmp_path / "b.jsonl") == fixes
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


@pytest.mark.parametrize(
    ("encoding", "suffix", "marked"),
    [
        *(("utf-8-sig", ".csv", True), ("utf-16", ".jsonl", False), ("utf-8", ".csv", False)),
        *(("cp949", ".csv.gz", True), ("cp949", ".xlsx", False)),
    ],
)
def test_a_copy_has_a_byte_order_mark_where_its_input_is_marked_or_of_an_older_encoding(
    tmp_path: Path, check: Check, encoding: str, suffix: str, marked: bool
) -> None:
    lines = [f"오늘 본 영화는 정말 {i}번 보아도 좋은 영화였다,{'긍정' if i % 2 else '부정'}" for i in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["text,label", *lines]) + "\n", encoding=encoding)
    fixed = tmp_path / f"b{suffix}"
    check(tmp_path / "a.csv").fix(fixed)
    written = gzip.decompress(fixed.read_bytes()) if suffix.endswith(".gz") else fixed.read_bytes()
    assert written.startswith(b"\xef\xbb\xbf") is marked
    assert read_table(fixed).columns["text"][0] == lines[0].partition(",")[0]
