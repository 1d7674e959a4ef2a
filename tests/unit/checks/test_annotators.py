"""`finetune check`: several annotators of the same rows."""

import json
import re
from pathlib import Path

import pytest
from support.checked_files import Check, found, labels, texts, write_csv, write_jsonl

from finetune.checks.finding import FileFinding
from finetune.commands.check.run_checks import CheckReport
from finetune.errors import UserError

OTHER = {"good": "bad", "bad": "good"}
DIFFER = {3, 10, 11, 30}


def differing(report: CheckReport) -> FileFinding:
    (finding,) = (one for one in report.findings if one.code == "annotators-differ")
    return finding


def second(rows: set[int]) -> list[str]:
    """The labels of an annotator who differs in these rows, counted from 1."""
    return [OTHER[label] if row in rows else label for row, label in enumerate(labels(60), start=1)]


def columns(path: Path, **by_name: list[str]) -> Path:
    return write_csv(path, [["text", *by_name], *zip(texts(60), *by_name.values(), strict=True)])


@pytest.mark.parametrize("names", [("label_1", "label_2"), ("annotator_a", "annotator_b"), ("평가자1", "평가자2")])
def test_two_columns_of_labels_are_compared(tmp_path: Path, check: Check, names: tuple[str, str]) -> None:
    path = columns(tmp_path / "a.csv", **dict(zip(names, (labels(60), second(DIFFER)), strict=True)))
    with pytest.raises(UserError, match="two annotators"):
        check(path)
    report = check(path, label=names[0])
    finding = differing(report)
    assert (finding.severity, finding.rows) == ("note", tuple(sorted(DIFFER)))
    assert "differ in 4 of 60 texts (6.7 %)" in finding.what and "alpha 0.87 (nominal)" in finding.what
    assert "row 3 'good', 'bad'" in finding.what and f"'{names[0]}' is learned" in finding.remedy
    assert not {"label-given-away", "contradiction"} & {*found(report)}


def test_a_label_made_of_three_is_not_one_of_them(tmp_path: Path, check: Check) -> None:
    """Nor are the three taken for choices of a question."""
    raters = {"rater1": labels(60), "rater2": second(DIFFER), "rater3": second({*range(1, 31)})}
    finding = differing(check(columns(tmp_path / "a.csv", label=labels(60), **raters)))
    assert "(rater1, rater2, rater3)" in finding.what and finding.severity == "warning"
    assert "guidelines" in finding.remedy and "'label' is learned" in finding.remedy


def test_rows_of_one_text_by_two_annotators_are_compared(tmp_path: Path, check: Check) -> None:
    rows = [
        [text, who, label]
        for text, *both in zip(texts(60), labels(60), second(DIFFER), strict=True)
        for who, label in zip(("ann", "ben"), both, strict=True)
    ]
    report = check(write_csv(tmp_path / "a.csv", [["text", "annotator", "label"], *rows]))
    finding = differing(report)
    assert finding.rows == tuple(row for one in sorted(DIFFER) for row in (2 * one - 1, 2 * one))
    assert "differ in 4 of 60 texts" in finding.what and "alpha 0.87" in finding.what
    assert "Each row is learned" in finding.remedy
    alone = write_csv(tmp_path / "b.csv", [["text", "annotator", "label"], *rows[::2]])
    assert "annotators-differ" not in found(check(alone))


def test_annotations_of_a_tool_are_compared(tmp_path: Path, check: Check) -> None:
    """The first that was not cancelled is the label, as ever."""

    def annotation(label: str, *, cancelled: bool = False) -> dict[str, object]:
        value = {"from_name": "mood", "type": "choices", "value": {"choices": [label]}}
        return {"result": [value], "was_cancelled": cancelled}

    tasks = [
        {
            "id": row,
            "data": {"text": text},
            "annotations": [annotation("bad", cancelled=True), annotation(one), annotation(other)],
        }
        for row, (text, one, other) in enumerate(zip(texts(60), labels(60), second(DIFFER), strict=True), start=1)
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    report = check(path)
    assert list(report.parts[0].golds) == labels(60)
    finding = differing(report)
    assert finding.rows == tuple(sorted(DIFFER)) and "first annotation" in finding.remedy


def test_numbers_are_compared_by_how_far_they_differ(tmp_path: Path, check: Check) -> None:
    stars = [1 + row % 5 for row in range(60)]
    near = [min(5, star + (row % 10 == 0)) for row, star in enumerate(stars)]
    path = columns(tmp_path / "a.csv", score_1=list(map(str, stars)), score_2=list(map(str, near)))
    assert "alpha 0.98 (ordinal)" in differing(check(path, label="score_1")).what
    halves = [star + 0.25 * (row % 3) for row, star in enumerate(stars)]
    path = columns(tmp_path / "b.csv", score_1=list(map(str, halves)), score_2=list(map(str, near)))
    assert "(interval)" in differing(check(path, label="score_1")).what


def test_words_in_an_order_are_compared_by_it(tmp_path: Path, check: Check) -> None:
    one = [("low", "medium", "high")[row % 3] for row in range(60)]
    near = ["medium" if row in (0, 2) else label for row, label in enumerate(one)]
    far = ["high" if row in (0, 3) else label for row, label in enumerate(one)]
    said = [
        differing(check(columns(tmp_path / f"{name}.csv", label_1=one, label_2=other), label="label_1")).what
        for name, other in (("near", near), ("far", far))
    ]
    near_alpha, far_alpha = (float(re.findall(r"alpha (\S+) \(ordinal\)", what)[0]) for what in said)
    assert near_alpha == 0.97 > far_alpha


def test_tags_are_compared_by_word(tmp_path: Path, check: Check) -> None:
    one = [["B-X", "O", "O", "O"] if row % 2 else ["O", "O", "B-X", "I-X"] for row in range(60)]
    other = [["B-X", "O", "B-X", "O"] if row == 7 else tags for row, tags in enumerate(one)]
    rows = zip(texts(60, words=4), one, other, strict=True)
    path = write_jsonl(tmp_path / "a.jsonl", [{"words": w.split(), "tags_1": a, "tags_2": b} for w, a, b in rows])
    finding = differing(check(path, text="words", label="tags_1", shape="tagging"))
    assert finding.rows == (8,) and "differ in 1 of 60 texts" in finding.what and "alpha 0.99" in finding.what


def test_other_columns_are_no_annotators(tmp_path: Path, check: Check) -> None:
    """Another question with other labels, all who agree, and columns of several labels a row."""
    aspects = columns(tmp_path / "a.csv", label_1=labels(60), label_2=[f"topic{row % 3}" for row in range(60)])
    agreed = columns(tmp_path / "b.csv", label=labels(60), rater1=labels(60), rater2=labels(60))
    flags = columns(tmp_path / "c.csv", label_1=["0", "1"] * 30, label_2=["1", "1", "0"] * 20)
    for report in (
        check(aspects, label="label_1"),
        check(agreed, label="label"),
        check(flags, label="label_1,label_2"),
    ):
        assert "annotators-differ" not in found(report)
