"""`finetune check`: each fault that is put into a file is found in its rows, and nothing else is."""

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import Check, found, labels, questions, reviews, tagged, texts, write_csv, write_jsonl

MORE = texts(8, seed=1)
CELLS: dict[str, tuple[str, dict[int, object]]] = {  # the column that has the fault, and its cells
    "missing-text": ("text", {5: "", 8: "   "}),
    "missing-label": ("label", {7: "", 9: " "}),
    "blank-word": ("text", {11: "nan", 12: "N/A"}),
    "html": ("text", {15: f"<br/>{MORE[0]}", 16: f"{MORE[1]} &amp; more"}),
    "mojibake": ("text", {17: f"cafÃ© {MORE[2]}", 18: f"itâ€™s {MORE[3]}", 4: "ì•ˆë…• ì¹œêµ¬"}),
    "control": ("text", {19: f"nul \0 {MORE[4]}", 20: f"zero\u200bwidth {MORE[5]}"}),
    "replacement": ("text", {21: f"caf\ufffd {MORE[6]}"}),
    "not-nfc": ("text", {22: unicodedata.normalize("NFD", f"café {MORE[7]}")}),
    "label-variant": ("label", {28: "Good", 29: "BAD"}),
    "label-typo": ("label", {31: "goood", 32: "goood"}),
    "label-mistake": ("label", {48: "label"}),
    "blank-label": ("label", {33: "None"}),
    "duplicate": ("text", {37: texts(60)[34], 39: f"  {texts(60)[34]}"}),
    "contradiction": ("text", {35: texts(60)[34], 38: texts(60)[34]}),
}


def odd_cells(folder: Path) -> Path:
    changed: dict[str, dict[int, object]] = {"text": {}, "label": {}}
    for column, cells in CELLS.values():
        changed[column] |= cells
    return reviews(folder / "a.csv", **changed)


def damaged_lines(folder: Path) -> Path:
    path = write_csv(folder / "a.csv", [["text", "label"], *zip(texts(60), labels(60), strict=True)], quote=True)
    lines = path.read_text().splitlines()
    lines[3] = '"a cell too many","good","more"'
    lines[7] = '"a quote that is not closed,good'  # it would end where that of the next row begins
    lines[20:22] = ['"another that is not closed,good', '"though, this has a comma","bad"']
    lines[11] = '"bytes of another encoding: \udcff\udcfe","bad"'
    lines[12:14] = ['"a cell of two', 'lines and é è ê ë","good"']
    path.write_bytes(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    return path


def damaged_json(folder: Path) -> Path:
    rows: list[dict[str, Any]] = [{"text": text, "kind": i % 2, "hot": i % 3 == 0} for i, text in enumerate(texts(60))]
    rows[6]["hot"] = 2
    path = write_jsonl(folder / "a.jsonl", rows)
    lines = path.read_text().splitlines()
    lines[3], lines[9] = "", lines[9][:-1]
    path.write_text("\n".join(lines) + "\n")
    return path


def wrong_tags(folder: Path) -> Path:
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
    return write_jsonl(folder / "a.jsonl", rows)


def wrong_answers(folder: Path) -> Path:
    rows = questions(60)
    rows[4]["answers"]["text"] = ["absent from it"]
    rows[6]["answers"]["answer_start"] = [rows[6]["answers"]["answer_start"][0] + 3]
    rows[8]["context"] = ""
    rows[10]["answers"] = {"text": [" "], "answer_start": [3]}
    rows[12] |= {"context": "the cat and the dog", "answers": {"text": ["the"], "answer_start": []}}
    rows[14]["id"] = "q3"
    return write_jsonl(folder / "a.jsonl", rows)


def wrong_choices(folder: Path) -> Path:
    rows: list[list[object]] = [
        [t, f"one {t[:9]}", f"two {t[:9]}", f"three {t[:9]}", i % 3] for i, t in enumerate(texts(60))
    ]
    rows[3][4] = 7
    rows[5][1:4] = ["only one", "", ""]
    rows[7][3:5] = ["", 0]
    rows[9][2] = rows[9][1]
    rows[11][0] = " "
    rows[13][4] = ""
    return write_csv(folder / "a.csv", [["context", "choice1", "choice2", "choice3", "label"], *rows])


def wrong_number(folder: Path) -> Path:
    rows: list[list[object]] = [[text, i / 7] for i, text in enumerate(texts(60))]
    rows[6][1] = "much"
    return write_csv(folder / "a.csv", [["text", "score"], *rows])


def damaged_utf_16(folder: Path) -> Path:
    path = reviews(folder / "a.csv")
    content = path.read_text().encode("utf-16")
    line = content.index("\n".encode("utf-16-le"), 400) + 2
    path.write_bytes(content[:line] + b"\x00\xdc" + content[line + 2 :])
    return path


OF_EVERY_FILE = {"majority", "vocabulary", "token-lengths", "windows", "cut", "unknown-tokens"}
FAULTS: list[tuple[Callable[[Path], Path], dict[str, str], dict[str, tuple[int, ...]]]] = [
    (lambda folder: reviews(folder / "a.csv"), {}, {}),
    (
        odd_cells, {},
        {code: tuple(sorted(cells)) for code, (_, cells) in CELLS.items()}
        | {"contradiction": (35, 37, 38, 39), "single-row": (33,), "few-rows": (31, 32)},
    ),
    (damaged_lines, {}, {"cells": (3,), "quote": (7, 19), "bytes": (11,)}),
    (damaged_json, {"label": "kind,hot", "shape": "multi-label"}, {"no-mark": (6,), "json": (9,)}),
    (
        wrong_tags, {},
        {
            "words-tags": (4,), "tag-transition": (6,), "no-tag": (8,), "tag-scheme": (10,), "missing-text": (12,),
            "missing-label": (14,), "single-row": (16,), "duplicate": (18,), "empty-word": (20,),
        },
    ),
    (
        wrong_answers, {"id": "id"},
        {"answer-lost": (5,), "answer-moved": (7,), "missing-text": (9,), "double-id": (15,)},
    ),
    (
        wrong_choices, {},
        {
            "label-range": (4,), "few-choices": (6,), "choice-count": (8,), "double-choice": (10,),
            "missing-text": (12,), "missing-label": (14,),
        },
    ),
    (wrong_number, {}, {"no-number": (7,)}),
    (damaged_utf_16, {}, {"bytes": (4,), "encoding": ()}),
]  # fmt: skip


@pytest.mark.parametrize(("make", "settings", "expected"), FAULTS, ids=lambda one: getattr(one, "__name__", ""))
def test_faults_are_found_in_their_rows_and_nothing_else_is(
    make: Callable[[Path], Path], settings: dict[str, str], expected: dict[str, object], tmp_path: Path, check: Check
) -> None:
    report = found(check(make(tmp_path), **settings))
    assert {code: rows for code, rows in report.items() if code not in OF_EVERY_FILE} == expected


@pytest.mark.parametrize(
    ("header", "codes"),
    [
        ("text,label", set()),
        ("\ufeff text,label ", set()),
        ("text,,label", {"header-empty"}),
        ("text,text,label", {"header-double"}),
        ("", {"no-header"}),
    ],
)
def test_faults_of_a_header(header: str, codes: set[str], tmp_path: Path, check: Check) -> None:
    extra = header.count(",") == 2
    rows = [f"{text},{'more ' * extra}{',' * extra}{label}" for text, label in zip(texts(40), labels(40), strict=True)]
    (tmp_path / "a.csv").write_text("\n".join([header, *rows] if header else rows) + "\n", encoding="utf-8")
    report = found(check(tmp_path / "a.csv", **({"text": "text", "label": "label"} if header else {})))
    assert {code for code in report if "header" in code} == codes
