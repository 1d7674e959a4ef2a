"""`finetune check`: faults of tags, answers, choices and numbers."""

from pathlib import Path

import pytest
from support.checked_files import Check, found, questions, tagged, texts, write_csv, write_jsonl

from finetune.task_types.tagging.findings import is_legal


def test_faults_of_tags_are_found_in_their_rows(tmp_path: Path, check: Check) -> None:
    rows = tagged(60)
    rows[3]["tags"].pop()
    rows[5]["tags"][2] = "I-LOC"
    rows[7]["tags"][2] = "PERSON"
    rows[9]["tags"][:4] = ["B-PER", "E-PER", "O", "S-LOC"]
    rows[11]["words"] = []
    rows[13]["tags"] = None
    rows[15]["tags"][3] = "B-LCO"
    rows[17]["words"] = rows[16]["words"]
    rows[19]["words"][2] = " "
    report = found(check(write_jsonl(tmp_path / "a.jsonl", rows)))
    expected = {"words-tags": (4,), "tag-transition": (6,), "no-tag": (8,), "tag-scheme": (10,), "missing-text": (12,)}
    expected |= {"missing-label": (14,), "single-row": (16,), "duplicate": (18,), "empty-word": (20,)}
    assert {code: report.get(code) for code in expected} == expected


@pytest.mark.parametrize(
    ("scheme", "tags", "broken"),
    [
        ("IOB2", "B-X I-X O B-X B-X", "O I-X"),
        ("IOB1", "I-X I-X B-X O I-Y", "O B-X"),
        ("IOBES", "B-X I-X E-X O S-Y", "B-X O"),
        ("BILOU", "B-X I-X L-X O U-Y", "B-X O"),
    ],
)
def test_what_a_scheme_of_tags_allows(scheme: str, tags: str, broken: str, tmp_path: Path, check: Check) -> None:
    assert is_legal(tags.split(), scheme)
    assert not is_legal(broken.split(), scheme)
    rows = [{"words": text.split()[:5], "tags": tags.split()} for text in texts(30)]
    assert not {"tag-scheme", "tag-transition"} & set(found(check(write_jsonl(tmp_path / "a.jsonl", rows))))


def test_faults_of_answers_are_found_in_their_rows(tmp_path: Path, check: Check) -> None:
    rows = questions(60)
    rows[4]["answers"]["text"] = ["absent from it"]
    rows[6]["answers"]["answer_start"] = [rows[6]["answers"]["answer_start"][0] + 3]
    rows[8]["context"] = ""
    rows[10]["answers"] = {"text": [" "], "answer_start": [3]}
    rows[12] |= {"context": "the cat and the dog", "answers": {"text": ["the"], "answer_start": []}}
    rows[14]["id"] = "q3"
    report = found(check(write_jsonl(tmp_path / "a.jsonl", rows), id="id"))
    expected = {"answer-lost": (5,), "answer-moved": (7,), "missing-text": (9,), "double-id": (15,)}
    assert {code: report.get(code) for code in expected} == expected


def test_faults_of_choices_are_found_in_their_rows(tmp_path: Path, check: Check) -> None:
    rows: list[list[object]] = [
        [t, f"one {t[:9]}", f"two {t[:9]}", f"three {t[:9]}", i % 3] for i, t in enumerate(texts(60))
    ]
    rows[3][4] = 7
    rows[5][1:4] = ["only one", "", ""]
    rows[7][3] = ""
    rows[7][4] = 0
    rows[9][2] = rows[9][1]
    rows[11][0] = " "
    rows[13][4] = ""
    names = ["context", "choice1", "choice2", "choice3", "label"]
    report = found(check(write_csv(tmp_path / "a.csv", [names, *rows])))
    expected = {"label-range": (4,), "few-choices": (6,), "choice-count": (8,), "double-choice": (10,)}
    expected |= {"missing-text": (12,), "missing-label": (14,)}
    assert {code: report.get(code) for code in expected} == expected


def test_a_number_that_is_none_is_found_in_its_row(tmp_path: Path, check: Check) -> None:
    rows: list[list[object]] = [[text, i / 7] for i, text in enumerate(texts(60))]
    rows[6][1] = "much"
    assert found(check(write_csv(tmp_path / "a.csv", [["text", "score"], *rows])))["no-number"] == (7,)
