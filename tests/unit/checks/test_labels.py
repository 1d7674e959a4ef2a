"""`finetune check`: labels, their counts and their spellings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import Check, found, reviews, texts, write_jsonl

from finetune.commands.check.fix import write_fixed
from finetune.data.characters import misspelled, unified
from finetune.data.reading import read_table


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({1: "alone", **dict.fromkeys(range(3, 8), "some")}, {"single-row": (1,), "few-rows": (3, 4, 5, 6, 7)}),
        (dict.fromkeys(range(1, 58), "good"), {"imbalance": (), "few-rows": (58, 60)}),
        (dict.fromkeys(range(1, 61), "good"), {"one-label": ()}),
        (dict.fromkeys(range(1, 61), ""), {"no-labels": ()}),
    ],
)
def test_classes_are_counted(
    labels: dict[int, object], expected: dict[str, object], tmp_path: Path, check: Check
) -> None:
    report = found(check(reviews(tmp_path / "a.csv", label=labels), label="label"), "error", "warning")
    assert {code: rows for code, rows in report.items() if code != "vocabulary"} == expected


@pytest.mark.parametrize(
    ("labels", "severity", "code", "said"),
    [
        ([["b"], *[["a"]] * 29], "warning", "imbalance", "'a'"),
        ([["a"], [], ["b"]] * 10, "note", "majority", "33.3"),
        ("a" * 26 + "b" * 4, "note", "majority", "accuracy 86.7 and macro F1 46.4"),  # 2 * 26/56 / 2
        ([["a"]] * 30, "error", "one-label", "'a'"),
    ],
)
def test_what_it_scores_to_answer_always_the_same(
    labels: list[Any], severity: str, code: str, said: str, tmp_path: Path, check: Check
) -> None:
    rows = [{"text": text, "labels": given} for text, given in zip(texts(30), labels, strict=True)]
    report = check(write_jsonl(tmp_path / "a.jsonl", rows))
    (finding,) = (one for one in report.findings if one.code == code)
    assert finding.severity == severity and said in finding.what


CODES = {"EN-US": 100, "EN-UK": 2, "SEND": 90, "SAND": 2, "a1b2": 90, "a1c2": 1, "zh-cn": 50, "zh-hn": 1}
TYPOS = {"politics": 100, "politcs": 2, "poiltics": 1, "politics!": 3, "sports": 90, "sport": 80, "cat": 90, "cab": 1}
INNER = {
    **{"긍정": 40, "긍 정": 2, "매우 긍정적": 30, "매우긍정적": 3},
    **{"room 1 1": 9, "room 11": 3, "매우 부정적": 20},
}


@pytest.mark.parametrize(
    ("counts", "spellings", "typos"),
    [
        ({"Sport": 3, "sport": 9, " SPORT": 1, "news": 2}, {"Sport": "sport", " SPORT": "sport"}, {}),
        (TYPOS, {}, {"politcs": "politics", "poiltics": "politics", "politics!": "politics"}),
        ({"class 1": 100, "class 2": 1, "1000": 100, "1001": 1}, {}, {}),
        (CODES, {}, {}),
        ({"긍정": 66, "부정": 70, "긍졍": 1, "부저": 1}, {}, {"긍졍": "긍정", "부저": "부정"}),
        ({"긍정": 66, "긍정ㅇ": 1, "긎엉": 1}, {}, {"긍정ㅇ": "긍정"}),
        ({"긍정": 66, "부정": 6, "중립": 1, "A형": 90, "B형": 2, "남": 50, "담": 1}, {}, {}),
        (INNER, {"긍 정": "긍정", "매우긍정적": "매우 긍정적"}, {}),
        ({"매우  긍정적": 1, "매우\u00a0긍정적": 2, "1 2": 5, "12": 9}, {"매우  긍정적": "매우\u00a0긍정적"}, {}),
    ],
)
def test_spellings_of_one_label_and_typos(
    counts: Mapping[str, int], spellings: dict[str, str], typos: dict[str, str]
) -> None:
    assert (unified(counts), misspelled(counts)) == (spellings, typos)


def test_labels_that_differ_in_inner_spaces_are_reported_once_and_fixed(tmp_path: Path, check: Check) -> None:
    spelled = {row: "매우 긍정적" if row % 2 else "매우 부정적" for row in range(1, 61)}
    report = check(reviews(tmp_path / "a.csv", label=spelled | {3: "매우긍정적", 8: "매우부 정적"}))
    assert found(report)["label-variant"] == (3, 8)
    assert not {"label-typo", "single-row"} & set(found(report))
    write_fixed(report.parts[0], tmp_path / "b.csv")
    assert set(read_table(tmp_path / "b.csv").columns["label"]) == {"매우 긍정적", "매우 부정적"}
