"""`finetune check`: labels, their counts and their spellings."""

from pathlib import Path
from typing import Any

import pytest
from support.checked_files import Check, found, reviews, texts, write_csv, write_jsonl

from finetune.commands.check.fix import write_fixed
from finetune.data.characters import misspelled, unified
from finetune.data.reading import read_table


def test_classes_are_counted(tmp_path: Path, check: Check) -> None:
    changed = {1: "alone", **dict.fromkeys(range(3, 8), "some")}
    report = check(reviews(tmp_path / "a.csv", label=changed))
    assert (found(report)["single-row"], found(report)["few-rows"]) == ((1,), (3, 4, 5, 6, 7))
    report = check(reviews(tmp_path / "b.csv", label=dict.fromkeys(range(1, 46), "good")))
    (finding,) = (finding for finding in report.findings if finding.code == "majority")
    share = (45 + 7) / 60
    macro = 2 * share / (1 + share) / 2
    assert f"accuracy {100 * share:.1f} and macro F1 {100 * macro:.1f}" in finding.what
    report = check(reviews(tmp_path / "c.csv", label=dict.fromkeys(range(1, 58), "good")))
    assert "imbalance" in found(report, "warning")
    report = check(reviews(tmp_path / "d.csv", label=dict.fromkeys(range(1, 61), "good")), label="label")
    assert "one-label" in found(report, "error")


def test_a_file_without_labels_is_told(tmp_path: Path, check: Check) -> None:
    path = write_csv(tmp_path / "a.csv", [["text"], *([text] for text in texts(40))])
    assert "no-label-column" in found(check(path), "error")
    path = write_csv(tmp_path / "b.csv", [["text", "label"], *([text, ""] for text in texts(40))])
    assert "no-labels" in found(check(path, label="label"), "error")


def test_lines_that_are_no_json_and_marks_that_are_none_are_found(tmp_path: Path, check: Check) -> None:
    rows: list[dict[str, Any]] = [{"text": text, "kind": i % 2, "hot": i % 3 == 0} for i, text in enumerate(texts(60))]
    rows[6]["hot"] = 2
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    lines = path.read_text().splitlines()
    lines[3], lines[9] = "", lines[9][:-1]
    path.write_text("\n".join(lines) + "\n")
    report = check(path, label="kind,hot", shape="multi-label")
    assert {code: found(report).get(code) for code in ("no-mark", "json")} == {"no-mark": (6,), "json": (9,)}
    (finding,) = (finding for finding in report.findings if finding.code == "json")
    assert finding.lines == (10,)


def test_spellings_of_labels() -> None:
    assert unified({"Sport": 3, "sport": 9, " SPORT": 1, "news": 2}) == {"Sport": "sport", " SPORT": "sport"}
    counts = {
        "politics": 100,
        "politcs": 2,
        "poiltics": 1,
        "politics!": 3,
        "sports": 90,
        "sport": 80,
        "cat": 90,
        "cab": 1,
    }
    assert misspelled(counts) == {"politcs": "politics", "poiltics": "politics", "politics!": "politics"}
    assert misspelled({"class 1": 100, "class 2": 1, "1000": 100, "1001": 1}) == {}
    assert (
        misspelled({"EN-US": 100, "EN-UK": 2, "SEND": 90, "SAND": 2, "a1b2": 90, "a1c2": 1, "zh-cn": 50, "zh-hn": 1})
        == {}
    )


def test_a_typo_in_short_labels_of_hangul_is_one_of_jamo() -> None:
    assert misspelled({"긍정": 66, "부정": 70, "긍졍": 1, "부저": 1}) == {"긍졍": "긍정", "부저": "부정"}
    assert misspelled({"긍정": 66, "긍정ㅇ": 1, "긎엉": 1}) == {"긍정ㅇ": "긍정"}
    assert misspelled({"긍정": 66, "부정": 6, "중립": 1, "A형": 90, "B형": 2, "남": 50, "담": 1}) == {}


def test_spellings_that_differ_in_inner_spaces_are_one_label_and_no_typo() -> None:
    counts = {
        "긍정": 40,
        "긍 정": 2,
        "매우 긍정적": 30,
        "매우긍정적": 3,
        "room 1 1": 9,
        "room 11": 3,
        "매우 부정적": 20,
    }
    assert unified(counts) == {"긍 정": "긍정", "매우긍정적": "매우 긍정적"}
    assert misspelled(counts) == {}
    assert unified({"매우  긍정적": 1, "매우\u00a0긍정적": 2, "1 2": 5, "12": 9}) == {
        "매우  긍정적": "매우\u00a0긍정적"
    }


def test_labels_that_differ_in_inner_spaces_are_reported_once_and_fixed(tmp_path: Path, check: Check) -> None:
    spelled = {row: "매우 긍정적" if row % 2 else "매우 부정적" for row in range(1, 61)}
    path = reviews(tmp_path / "a.csv", label=spelled | {3: "매우긍정적", 8: "매우부 정적"})
    report = check(path)
    assert found(report)["label-variant"] == (3, 8)
    assert not {"label-typo", "single-row"} & set(found(report))
    write_fixed(report.parts[0], tmp_path / "b.csv")
    assert set(read_table(tmp_path / "b.csv").columns["label"]) == {"매우 긍정적", "매우 부정적"}


@pytest.mark.parametrize(
    ("rows", "severity", "code", "said"),
    [
        ([{"text": t, "labels": ["a"] if i else ["b"]} for i, t in enumerate(texts(30))],
         "warning", "imbalance", "'a'"),
        ([{"text": t, "labels": [["a"], [], ["b"]][i % 3]} for i, t in enumerate(texts(30))],
         "note", "majority", "33.3"),
        ([{"text": t, "labels": ["a"]} for t in texts(30)], "error", "one-label", "no label but 'a'"),
    ],
)  # fmt: skip
def test_what_it_scores_to_answer_always_the_same(
    rows: list[dict[str, Any]], severity: str, code: str, said: str, tmp_path: Path, check: Check
) -> None:
    report = check(write_jsonl(tmp_path / "a.jsonl", rows))
    assert any((one.severity, one.code) == (severity, code) and said in one.what for one in report.findings), (
        report.findings
    )
