"""`finetune check --fix`: what is fixed is not found again, and the rest stays as it is."""

import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import Check, found, labels, questions, reviews, tagged, texts, write_csv, write_jsonl
from support.cli import InProcess

from finetune.commands.check.fix import write_fixed
from finetune.data.detect import BY_SUFFIX
from finetune.data.reading import read_table

FIXED = (
    *("cells", "quote", "bytes", "missing-text", "missing-label", "control"),
    *("not-nfc", "label-variant", "duplicate"),
)


@pytest.mark.parametrize("suffix", [*sorted({*BY_SUFFIX} - {".conll"}), ".csv.gz"])
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
    before = path.read_bytes()
    assert set(FIXED) <= set(found(check(path)))
    fixed = tmp_path / f"fixed{suffix}"
    code, out, _ = in_process("check", str(path), f"model={tiny_bert}", "--fix", str(fixed), data=tmp_path)
    assert code == 0
    assert path.read_bytes() == before
    keeps = suffix.removesuffix(".gz") in (".csv", ".tsv", ".txt")
    told = {
        cells[0].strip(): int(cells[1]) for line in out.splitlines() if len(cells := line.strip("│").split("│")) == 2
    }
    assert told == {
        **({} if keeps else {"byte-order mark removed": 1}),
        "column names fixed": 1,
        "rows dropped that could not be read": 3,
        "cells without their control characters": 1,
        "cells normalised to NFC": 1,
        "cells without their outer spaces": 1,
        "labels spelled as most rows have them": 1,
        "rows dropped without a text": 1,
        "rows dropped without a label": 1,
        "rows dropped that repeat an earlier one": 2,
    }
    report = check(fixed)
    assert set(FIXED) & set(found(report)) == set()
    assert len(report.parts[0].table) == 60 - 3 - 1 - 1 - 2
    table = read_table(fixed)
    assert table.columns["text"][0] == rows[0][0]
    assert set(table.columns["label"]) == {"good", "bad"}


def test_contexts_with_places_of_answers_stay_as_they_are(
    in_process: InProcess, tmp_path: Path, tiny_bert: Path
) -> None:
    rows = questions(30)
    rows[4]["context"] = unicodedata.normalize("NFD", "é\0 ") + rows[4]["context"]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    fixed = tmp_path / "b.jsonl"
    in_process("check", str(path), f"model={tiny_bert}", "--fix", str(fixed), data=tmp_path)
    assert [json.loads(line) for line in fixed.read_text(encoding="utf-8").splitlines()] == rows


def test_words_with_other_tags_are_not_taken_for_a_repetition(tmp_path: Path, check: Check) -> None:
    words = ["she", "lived", "long", "in", "New", "York"]
    kept, changed = [*["O"] * 5, "B-LOC"], [*["O"] * 4, "B-LOC", "B-LOC"]
    again = [{"words": words, "tags": tags} for tags in (kept, changed)]
    report = check(write_jsonl(tmp_path / "tags.jsonl", [*tagged(40), *again, again[0]]))
    assert write_fixed(report.parts[0], tmp_path / "fixed.jsonl") == {"rows dropped that repeat an earlier one": 1}
    assert len(read_table(tmp_path / "fixed.jsonl")) == 42


def test_tags_and_lists_of_labels_are_fixed_as_json_lines(
    in_process: InProcess, tmp_path: Path, check: Check, tiny_bert: Path
) -> None:
    rows: list[dict[str, Any]] = [
        {"text": text, "labels": ["a", "b", "c"][i % 3 :]} for i, text in enumerate(texts(60))
    ]
    rows[3]["labels"], rows[5] = ["A", "c "], rows[4]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    fixed = tmp_path / "b.jsonl"
    in_process("check", str(path), f"model={tiny_bert}", "--fix", str(fixed), data=tmp_path)
    rows_fixed = [json.loads(line) for line in fixed.read_text().splitlines()]
    assert rows_fixed[3]["labels"] == ["a", "c"] and len(rows_fixed) == 59
    assert not {"label-variant", "duplicate"} & set(found(check(fixed)))


def test_words_and_labels_of_control_characters_alone_are_dropped(tmp_path: Path, check: Check) -> None:
    rows = tagged(20)
    rows[3]["words"][0] = "\u200b"
    part = check(write_jsonl(tmp_path / "a.jsonl", rows)).parts[0]
    assert write_fixed(part, tmp_path / "b.jsonl") == {"rows dropped with an empty word": 1}
    part = check(reviews(tmp_path / "a.csv", label={5: "\0"}, text={7: "\u200b"})).parts[0]
    told = {"rows dropped without a label": 1, "rows dropped without a text": 1}
    assert write_fixed(part, tmp_path / "b.csv") == told
    assert len(read_table(tmp_path / "b.csv")) == 58


@pytest.mark.parametrize(
    ("encoding", "suffix", "marked"),
    [
        *(("utf-8-sig", ".csv", True), ("utf-16", ".tsv", True), ("utf-8-sig", ".jsonl", False)),
        *(("utf-8", ".csv", False), ("cp949", ".csv", True), ("cp949", ".csv.gz", True)),
        *(("cp949", ".xlsx", False), ("cp949", ".jsonl", False)),
    ],
)
def test_a_copy_has_a_byte_order_mark_where_its_input_is_marked_or_of_an_older_encoding(
    in_process: InProcess, tmp_path: Path, tiny_bert: Path, encoding: str, suffix: str, marked: bool
) -> None:
    lines = [f"오늘 본 영화는 정말 {i}번 보아도 좋은 영화였다,{'긍정' if i % 2 else '부정'}" for i in range(60)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["text,label", *lines]) + "\n", encoding=encoding)
    fixed = tmp_path / f"b{suffix}"
    code, _, _ = in_process("check", str(path), f"model={tiny_bert}", "--fix", str(fixed), data=tmp_path)
    assert code == 0
    written = gzip.decompress(fixed.read_bytes()) if suffix.endswith(".gz") else fixed.read_bytes()
    assert written.startswith(b"\xef\xbb\xbf") is marked
    assert read_table(fixed).columns["text"][0] == lines[0].partition(",")[0]


KOREAN = ("오랜만에 만난 친구", "정말 재미있는 영화", "아주 좋아요 아주", "안녕하세요 반갑습니다")


def test_korean_mojibake_is_found_and_not_damaged(tmp_path: Path, check: Check) -> None:
    latin = [f" {text}".encode("cp949").decode("latin-1") + " " for text in KOREAN]
    odd = dict(enumerate([*latin, "移쒓뎄 and a few words "], start=3))
    report = check(reviews(tmp_path / "bad.csv", text=odd))
    assert found(report)["mojibake"] == tuple(odd)
    assert write_fixed(report.parts[0], tmp_path / "fixed.csv") == {"cells kept as they are: mojibake": 5}
    texts = read_table(tmp_path / "fixed.csv").columns["text"]
    assert [texts[row - 1] for row in odd] == list(odd.values())


def test_a_label_of_mojibake_is_kept_where_others_are_respelled(tmp_path: Path, check: Check) -> None:
    broken = "긍정 영화".encode().decode("latin-1")  # with control characters
    part = check(reviews(tmp_path / "bad.csv", label={3: "GOOD", 5: broken, 7: broken})).parts[0]
    write_fixed(part, tmp_path / "fixed.csv")
    labels = read_table(tmp_path / "fixed.csv").columns["label"]
    assert (labels[2], labels[4]) == ("good", broken)


def test_mojibake_is_kept_as_it_is(tmp_path: Path, check: Check) -> None:
    odd = {3: "cafÃ© au lait, twice", 5: "Ð¿Ñ€Ð¸Ð²ÐµÑ‚ is a word", 7: "itâ€™s fine, Â£5"}
    (part,) = check(reviews(tmp_path / "bad.csv", text=odd)).parts
    assert write_fixed(part, tmp_path / "fixed.csv") == {"cells kept as they are: mojibake": 3}
    texts = read_table(tmp_path / "fixed.csv").columns["text"]
    assert [texts[row - 1] for row in odd] == list(odd.values())
