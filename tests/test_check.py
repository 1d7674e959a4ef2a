"""`finetune check DATA`: every fault that was planted is found in its row, clean data is clean, and `--fix` mends."""

import csv
import io
import json
import random
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from finetune.checks import duplicates
from finetune.checks.fix import write_mended
from finetune.checks.minhash import LEAST, likeness, near_pairs
from finetune.checks.run_checks import Report, check_data
from finetune.checks.spellings import misspelled, unified
from finetune.data import characters
from finetune.data.characters import census, runs_of
from finetune.data.reading import read_table
from finetune.task_types.tagging.remarks import is_legal

InProcess = Callable[..., tuple[int, str, str]]
KOREAN = ["오늘 날씨가 정말 좋다", "영화가 너무 지루했다", "배우들의 연기가 훌륭하다", "다시는 보고 싶지 않다"]


def texts(count: int, *, words: int = 12, seed: int = 0) -> list[str]:
    """Sentences of random words, so that no two are alike."""
    generator = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [
        " ".join("".join(generator.choices(letters, k=generator.randint(2, 8))) for _ in range(words))
        for _ in range(count)
    ]


def labels(count: int) -> list[str]:
    return [("good", "bad")[i % 2] for i in range(count)]


def write_csv(path: Path, rows: Sequence[Sequence[object]], *, quote: bool = False) -> Path:
    file = io.StringIO()
    quoting = csv.QUOTE_ALL if quote else csv.QUOTE_MINIMAL
    csv.writer(file, lineterminator="\n", quoting=quoting).writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(file.getvalue(), encoding="utf-8")
    return path


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def reviews(path: Path, count: int = 60, **changed: dict[int, object]) -> Path:
    """A clean CSV file, but for the cells of `text` and `label` in the rows that are changed."""
    rows: list[list[object]] = [[text, label] for text, label in zip(texts(count), labels(count), strict=True)]
    for column, name in enumerate(("text", "label")):
        for row, cell in changed.get(name, {}).items():
            rows[row - 1][column] = cell
    return write_csv(path, [["text", "label"], *rows])


def found(report: Report, *severities: str) -> dict[str, tuple[int, ...]]:
    """The rows of each finding by its code."""
    wanted = severities or ("error", "warning", "note")
    return {finding.code: finding.rows for finding in report.findings if finding.severity in wanted}


@pytest.fixture
def check(tiny_bert: Path) -> Callable[..., Report]:
    def call(path: Path, **settings: object) -> Report:
        return check_data(str(path), {"model": str(tiny_bert), **settings})

    return call


Check = Callable[..., Report]
LONG_WORDS = texts(8, seed=1)
BAD_CELLS: dict[str, tuple[str, dict[int, object]]] = {
    "missing-text": ("text", {5: "", 8: "   "}),
    "missing-label": ("label", {7: "", 9: " "}),
    "blank-word": ("text", {11: "nan", 12: "N/A"}),
    "no-letters": ("text", {13: "?!...", 14: ":-)"}),
    "html": ("text", {15: f"<br/>{LONG_WORDS[0]}", 16: f"{LONG_WORDS[1]} &amp; more"}),
    "mojibake": ("text", {17: f"cafÃ© {LONG_WORDS[2]}", 18: f"itâ€™s {LONG_WORDS[3]}", 4: "ì•ˆë…• ëª¨ë‘"}),
    "control": ("text", {19: f"nul \0 {LONG_WORDS[4]}", 20: f"zero\u200bwidth {LONG_WORDS[5]}"}),
    "replacement": ("text", {21: f"caf\ufffd {LONG_WORDS[6]}"}),
    "not-nfc": ("text", {22: unicodedata.normalize("NFD", f"café {LONG_WORDS[7]}")}),
    "homoglyph": ("text", {23: "log in at pаypal now please"}),  # its second letter is Cyrillic
    "formula": ("text", {24: "=HYPERLINK(A1) and more words here", 25: "#NAME?"}),
    "long-cell": ("text", {26: "\n".join(f"{text},7" for text in texts(60, words=3, seed=5))}),
    "swallowed-rows": ("text", {27: "a quote opens here,good\nand closes in the next row"}),
    "label-variant": ("label", {28: "Good", 29: "BAD"}),
    "label-typo": ("label", {31: "goood"}),
    "blank-label": ("label", {33: "None"}),
    "label-spaces": ("label", {35: " good "}),
    "duplicate": ("text", {37: texts(60)[34], 39: f"  {texts(60)[34]}"}),
    "contradiction": ("text", {35: texts(60)[34], 38: texts(60)[34]}),
    "near-duplicate": ("text", {41: texts(60)[41][:-1] + "#", 43: texts(60)[41][1:]}),
    "scripts": ("text", {45: "эта строка написана по русски", 46: "この文は日本語で書かれています"}),
}
ROWS = {code: tuple(sorted(cells)) for code, (_, cells) in BAD_CELLS.items()} | {
    "near-duplicate": (42, 43),
}


@pytest.mark.parametrize("code", BAD_CELLS)
def test_a_fault_in_a_cell_is_found_in_its_rows(code: str, tmp_path: Path, check: Check) -> None:
    column, cells = BAD_CELLS[code]
    assert code not in found(check(reviews(tmp_path / "clean.csv")))
    report = check(reviews(tmp_path / "bad.csv", **{column: cells}))
    assert found(report)[code] == ROWS[code]


def test_all_faults_of_cells_in_one_file_are_found_together(tmp_path: Path, check: Check) -> None:
    changed: dict[str, dict[int, object]] = {"text": {}, "label": {}}
    for column, cells in BAD_CELLS.values():
        changed[column] |= cells
    expected = ROWS | {"contradiction": (35, 37, 38, 39)}
    report = found(check(reviews(tmp_path / "bad.csv", **changed)))
    del expected["scripts"]  # whatever else is not Latin has its rows too
    assert {code: report.get(code) for code in expected} == expected


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
        (" text,label ", {"header-spaces"}),
        ("\ufefftext,label", {"byte-order-mark"}),
        ("text,,label", {"header-empty"}),
        ("text,text,label", {"header-double"}),
    ],
)
def test_faults_of_a_header(header: str, codes: set[str], tmp_path: Path, check: Check) -> None:
    extra = header.count(",") == 2
    rows = [f"{text},{'more ' * extra}{',' * extra}{label}" for text, label in zip(texts(40), labels(40), strict=True)]
    (tmp_path / "a.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    report = found(check(tmp_path / "a.csv", text="text", label="label"))
    assert {code for code in report if code.startswith(("header", "byte"))} == codes


def test_a_file_without_a_header_and_one_in_another_encoding_are_noted(tmp_path: Path, check: Check) -> None:
    rows = "".join(f"{text} é,{i % 2}\n" for i, text in enumerate(texts(40)))
    (tmp_path / "a.csv").write_bytes(rows.encode("latin-1"))
    report = check(tmp_path / "a.csv")
    assert {"no-header", "encoding"} <= set(found(report, "note"))
    assert set(found(report, "error", "warning")) == {"vocabulary"}  # of random letters


def test_a_file_of_windows_is_read_as_such(tmp_path: Path, check: Check) -> None:
    rows = "".join(f"“{text}”,{i % 2}\n" for i, text in enumerate(texts(40)))
    (tmp_path / "a.csv").write_bytes(f"text,label\n{rows}".encode("cp1252"))
    report = check(tmp_path / "a.csv")
    (what,) = [finding.what for finding in report.findings if finding.code == "encoding"]
    assert what.startswith(f"the file is read as Windows-1252, such as '“{texts(40)[0][:9]}")


def test_the_layout_says_where_each_guess_comes_from(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    rows = [[text, text[::-1], label] for text, label in zip(texts(40), labels(40), strict=True)]
    path = write_csv(tmp_path / "a.csv", [["title", "body", "topic"], *rows])
    code, out, _ = in_process("check", str(path), "text=body", f"model={tiny_bert}", data=tmp_path)
    assert code == 0
    assert "a.csv: delimited text, in UTF-8, comma-separated, cells may be quoted; 40 rows" in out
    table = {
        cells[0].strip(): [cell.strip() for cell in cells[1:3]]
        for line in out.splitlines()
        if len(cells := line.strip("│").split("│")) == 3
    }
    assert table["text"] == ["body", "given"]
    assert table["label"] == ["topic", "its name"]
    assert "max_length" in out and "0 errors, 1 warning, " in out and "warning vocabulary" in out


def test_columns_that_were_given_have_no_reason_of_their_own(tmp_path: Path, check: Check) -> None:
    rows = [[text, i % 3 and "", "x" if i % 2 else ""] for i, text in enumerate(texts(40))]
    path = write_csv(tmp_path / "a.csv", [["text", "one", "other"], *rows])
    reasons = check(path, text="text", label="one,other").layout.reasons
    assert reasons == {"text": "given", "label": "given", "shape": "2 label columns"}


def severities(report: Report) -> dict[str, str]:
    return {finding.code: finding.severity for finding in report.findings}


def test_only_what_spoils_a_run_ends_with_1(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    model = f"model={tiny_bert}"
    reviews(tmp_path / "few.csv", 200, text={5: "", 8: texts(200)[2]}, label={8: labels(200)[2], 9: ""})
    reviews(tmp_path / "one.csv", 60, label=dict.fromkeys(range(1, 61), "good"))
    for file, options, expected in (
        ("few.csv", [], 0),
        ("few.csv", ["--strict"], 1),
        ("few.csv", ["--strict", "--json"], 1),
        ("one.csv", ["label=label"], 1),
    ):
        code, _, err = in_process("check", file, model, *options, data=tmp_path)
        assert (code, err) == (expected, "")


def test_severities_follow_from_what_a_finding_does_to_a_run(tmp_path: Path, check: Check) -> None:
    again = {row: texts(400)[0] for row in range(3, 23, 2)}  # with the label of the first row
    few = severities(check(reviews(tmp_path / "a.csv", 400, text=again | {30: "", 40: texts(400)[0]})))
    assert few["duplicate"] == few["contradiction"] == "note" and few["missing-text"] == "warning"
    many = {row: texts(60)[0] for row in range(3, 23, 2)} | dict.fromkeys(range(24, 34, 2), texts(60)[0])
    found_many = severities(check(reviews(tmp_path / "b.csv", 60, text=many)))
    assert found_many["duplicate"] == found_many["contradiction"] == "warning"
    most = severities(check(reviews(tmp_path / "c.csv", 60, text=dict.fromkeys(range(1, 41), ""))))
    assert most["missing-text"] == "error"
    train = texts(400)
    for name, dev in (("few", [*texts(199, seed=9), train[0]]), ("many", [*texts(190, seed=9), *train[:10]])):
        for split, made in (("train", train), ("dev", dev)):
            rows = zip(made, labels(len(made)), strict=True)
            write_csv(tmp_path / name / f"{split}.csv", [["text", "label"], *rows])
        assert severities(check(tmp_path / name))["leak"] == {"few": "warning", "many": "error"}[name]
    for name, label in (("few", "new"), ("most", "all")):
        dev = [(text, label if i == 0 or label == "all" else "good") for i, text in enumerate(texts(40, seed=9))]
        write_csv(tmp_path / f"u{name}" / "train.csv", [["text", "label"], *zip(train, labels(400), strict=True)])
        write_csv(tmp_path / f"u{name}" / "dev.csv", [["text", "label"], *dev])
        assert severities(check(tmp_path / f"u{name}"))["unseen-label"] == {"few": "warning", "most": "error"}[name]


def test_long_documents_are_no_cells_that_swallowed_rows(tmp_path: Path, check: Check) -> None:
    document = "\n".join(f"{text}, and so on." for text in texts(80, words=8, seed=3))
    every = {row: f"{row} {document}" for row in range(1, 61)}
    some = {row: f"{row} {text}\n" * 70 for row, text in enumerate(texts(20, words=30, seed=4), 1)}
    wide = {7: "word " * 20_000}
    for name, cells in (("every", every), ("some", some), ("wide", wide)):
        codes = found(check(reviews(tmp_path / f"{name}.csv", text=cells)))
        assert not {"long-cell", "swallowed-rows"} & codes.keys(), name
    rows = [{"text": every[1] if i == 3 else text, "label": label} for i, (text, label) in enumerate(
        zip(texts(60), labels(60), strict=True))]  # fmt: skip
    assert "long-cell" not in found(check(write_jsonl(tmp_path / "a.jsonl", rows)))


UNSOUND: dict[str, tuple[list[dict[str, Any]], dict[str, str], str]] = {
    "one class": ([{"text": t, "label": "a"} for t in texts(30)], {"label": "label"}, "all 30 labelled rows have"),
    "one of several": ([{"text": t, "labels": ["a"]} for t in texts(30)], {}, "have no label but 'a'"),
    "no label at all": ([{"text": t, "labels": []} for t in texts(30)], {}, "all 30 labelled rows have no label"),
    "one number": ([{"text": t, "score": 1.5} for t in texts(30)], {"shape": "regression"}, "the same number"),
    "no entity": ([{"words": t.split(), "tags": ["O"] * 12} for t in texts(30)], {}, "no word is in an entity"),
    "no answer": (
        [{"question": t[:20], "context": t, "answers": []} for t in texts(30)], {}, "no question has an answer"
    ),
    "no label cell": ([{"text": t, "label": None} for t in texts(30)], {"label": "label"}, "no row has a label"),
    "no label column": ([{"text": t} for t in texts(30)], {}, "no column with labels was found"),
    "texts for numbers": (
        [{"text": t, "label": "ab"[i % 2]} for i, t in enumerate(texts(30))], {"shape": "regression"}, "is no number"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSOUND)
def test_a_run_refuses_what_check_calls_an_error(
    name: str, in_process: InProcess, tmp_path: Path, tiny_bert: Path
) -> None:
    rows, settings, said = UNSOUND[name]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    given = [f"{key}={value}" for key, value in settings.items()]
    code, out, _ = in_process("check", path.name, f"model={tiny_bert}", "--json", *given, data=tmp_path)
    (error,) = [one for one in json.loads(out)["findings"] if one["severity"] == "error"]
    assert code == 1 and said in error["message"]
    for command in ("run", "init"):
        code, _, err = in_process(command, path.name, f"model={tiny_bert}", *given, data=tmp_path)
        (line,) = err.splitlines()
        assert code == 2 and line.startswith(f"error: a.jsonl: {error['message']}") and error["remedy"] in line


def test_a_run_refuses_files_of_splits_that_do_not_fit(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    reviews(tmp_path / "data" / "train.csv")
    for column, label, said in (("texts", "good", "has no column 'text'"), ("text", "new", "has no row of: 'new'")):
        rows = [[text, label] for text in texts(20, seed=4)]
        write_csv(tmp_path / "data" / "dev.csv", [[column, "label"], *rows])
        code, _, err = in_process("run", "data", f"model={tiny_bert}", data=tmp_path)
        assert code == 2 and len(err.splitlines()) == 1 and said in err


@pytest.mark.parametrize("kind", ["csv", "tagging", "span", "choice", "korean", "regression", "multi-label"])
def test_clean_data_ends_with_0(kind: str, in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    many = texts(60)
    choices = [[f"{name} {i} {many[i][:9]}" for name in ("first", "second", "third")] for i in range(60)]
    files: dict[str, Callable[[], Path]] = {
        "csv": lambda: reviews(tmp_path / "a.csv"),
        "tagging": lambda: write_jsonl(tmp_path / "a.jsonl", tagged(60)),
        "span": lambda: write_jsonl(tmp_path / "a.jsonl", questions(60)),
        "choice": lambda: write_csv(
            tmp_path / "a.csv",
            [
                ["context", "choice1", "choice2", "choice3", "label"],
                *([t, *c, i % 3] for i, (t, c) in enumerate(zip(many, choices, strict=True))),
            ],
        ),
        "korean": lambda: write_csv(
            tmp_path / "a.csv", [["문장", "감정"], *([korean(i), "긍정" if i % 2 else "부정"] for i in range(60))]
        ),
        "regression": lambda: write_csv(
            tmp_path / "a.csv", [["text", "score"], *([t, i / 7] for i, t in enumerate(many))]
        ),
        "multi-label": lambda: write_jsonl(
            tmp_path / "a.jsonl", [{"text": t, "labels": ["a", "b", "c"][i % 3 :]} for i, t in enumerate(many)]
        ),
    }
    model = korean_encoder(tiny_bert, tmp_path / "ko", pieces=False) if kind == "korean" else tiny_bert
    code, out, err = in_process("check", str(files[kind]()), f"model={model}", "max_length=128", data=tmp_path)
    assert (code, err) == (0, ""), out


def tagged(count: int) -> list[dict[str, Any]]:
    """Sentences with two entities each."""
    made = [text.split() for text in texts(count)]
    return [{"words": words, "tags": ["B-PER", "I-PER", "O", "B-LOC", *["O"] * (len(words) - 4)]} for words in made]


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


def questions(count: int) -> list[dict[str, Any]]:
    """Questions whose answer is the third word of their context."""
    made = []
    for i, context in enumerate(texts(count, words=30)):
        words = context.split()
        answer = {"text": [words[2]], "answer_start": [len(" ".join(words[:2])) + 1]}
        made.append(
            {"id": f"q{i}", "question": f"which word is third of {words[9]}", "context": context, "answers": answer}
        )
    return made


def test_faults_of_answers_are_found_in_their_rows(tmp_path: Path, check: Check) -> None:
    rows = questions(60)
    rows[4]["answers"]["text"] = ["absent from it"]
    rows[6]["answers"]["answer_start"] = [rows[6]["answers"]["answer_start"][0] + 3]
    rows[8]["context"] = ""
    rows[10]["answers"] = {"text": [" "], "answer_start": [3]}
    rows[12] |= {"context": "the cat and the dog", "answers": {"text": ["the"], "answer_start": []}}
    rows[14]["id"] = "q3"
    report = found(check(write_jsonl(tmp_path / "a.jsonl", rows)))
    expected = {"answer-lost": (5,), "answer-moved": (7,), "missing-text": (9,), "double-id": (15,)}
    assert {code: report.get(code) for code in expected} == expected


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        ([{"question": "who?", "context": "the cat"}, {"question": "why?", "context": "the dog"}], {}),
        ([{"text": "a", "pair": {}, "label": 1}, {"text": "b", "pair": ["c"], "label": 0}], {"text": "text,pair"}),
        ([{"words": ["a", "b"]}, {"words": ["c"]}], {"shape": "tagging", "text": "words"}),
        ([{"text": "a", "label": None}, {"text": "b", "label": None}], {"label": "label"}),
        ([{"text": "a", "label": {"b": 1}}, {"text": [1], "label": [2]}], {"text": "text", "label": "label"}),
    ],
)
def test_odd_data_is_checked_to_the_end(
    rows: list[dict[str, Any]], settings: dict[str, str], tmp_path: Path, check: Check
) -> None:
    report = check(write_jsonl(tmp_path / "a.jsonl", rows), **settings)
    assert report.fails(strict=True)
    json.dumps(report.as_json())


def test_a_damaged_file_in_utf_16_is_checked(tmp_path: Path, check: Check) -> None:
    content = reviews(tmp_path / "a.csv").read_text().encode("utf-16")
    line = content.index("\n".encode("utf-16-le"), 400) + 2
    (tmp_path / "a.csv").write_bytes(content[:line] + b"\x00\xdc" + content[line + 2 :])
    report = found(check(tmp_path / "a.csv"))
    assert len(report["bytes"]) == 1 and "encoding" in report


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


def korean(i: int) -> str:
    generator = random.Random(i)
    return " ".join("".join(chr(0xAC00 + 28 * generator.randrange(399)) for _ in range(3)) for _ in range(8))


def korean_encoder(tiny_bert: Path, folder: Path, *, pieces: bool) -> Path:
    """The tiny encoder with a vocabulary that knows jamo, or whole syllables if it does not take them apart."""
    shutil.copytree(tiny_bert, folder)
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    known = map(chr, range(0x1100, 0x11C3) if pieces else range(0xAC00, 0xD7A4))
    vocabulary += [prefix + letter for letter in known for prefix in ("", "##")]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    config = {"tokenizer_class": "BertTokenizer", "model_max_length": 128, "do_lower_case": pieces}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def test_korean_is_checked_for_its_letters_and_its_tokenizer(tmp_path: Path, check: Check, tiny_bert: Path) -> None:
    rows = [[korean(i), "긍정" if i % 2 else "부정"] for i in range(60)]
    rows[4][0] = unicodedata.normalize("NFD", rows[4][0])
    rows[6][0] = "ㅎㅏㄴㄱㅜㄱㅇㅓ ㅁㅜㄴㅈㅏㅇ"
    rows[8][0] = "정말 재미있다 ㅋㅋㅋ ㅠㅠ"
    rows[10][0] = "this one is in English"
    path = write_csv(tmp_path / "a.csv", [["문장", "감정"], *rows])
    report = check(path)
    expected = {"not-nfc": (5,), "jamo": (7,), "scripts": (11,)}
    assert {code: found(report).get(code) for code in expected} == expected
    (finding,) = (finding for finding in report.findings if finding.code == "vocabulary")
    assert "model=klue/bert-base, or klue/roberta-base, monologg" in finding.remedy
    assert "google-bert/bert-base-multilingual-cased" in finding.remedy
    assert "jamo" not in finding.what
    assert found(report, "warning")["unknown-tokens"][:3] == (1, 2, 3)
    report = check(path, model=str(korean_encoder(tiny_bert, tmp_path / "pieces", pieces=True)))
    (finding,) = (finding for finding in report.findings if finding.code == "vocabulary")
    assert "takes syllables apart into jamo, does not fit these texts: 1.9 tokens a syllable" in finding.what
    report = check(path, model=str(korean_encoder(tiny_bert, tmp_path / "whole", pieces=False)))
    assert "vocabulary" not in found(report)


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


def test_one_number_written_in_two_ways_is_found(tmp_path: Path, check: Check) -> None:
    changed = {row: str(row % 2) for row in range(1, 61)} | {9: "1.0"}
    assert found(check(reviews(tmp_path / "a.csv", label=changed)))["label-number"] == (9,)


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


def test_columns_that_give_the_label_away_are_found(tmp_path: Path, check: Check) -> None:
    generator = random.Random(0)
    rows = [
        [i, text, label, f"{label} {i % 3}", generator.choice("xyz"), label[0] if i < 55 else ""]
        for i, (text, label) in enumerate(zip(texts(60), sorted(labels(60)), strict=True))
    ]
    names = ["id", "text", "label", "tells", "random", "nearly"]
    report = check(write_csv(tmp_path / "a.csv", [names, *rows]), text="text", label="label")
    said = [finding.what.split("'")[1] for finding in report.findings if finding.code == "label-given-away"]
    assert said == ["tells", "nearly"]


@pytest.mark.parametrize(
    ("rows", "rare", "wrong", "told"),
    [
        (40, 20, 1, True),  # one misspelt label
        (40, 20, 4, False),
        (400, 200, 8, True),
        (400, 200, 30, False),
        (400, 12, 0, True),
        (400, 12, 12, False),  # wrong where it counts: 97 % have one label whatever the column says
        (400, 4, 4, False),
    ],
)
def test_a_few_wrong_rows_do_not_hide_what_gives_the_label_away(
    tmp_path: Path, check: Check, rows: int, rare: int, wrong: int, told: bool
) -> None:
    right = ["bad" if row < rare else "good" for row in range(rows)]
    given = ["baad" if row == 0 and wrong else "good" if row < wrong else label for row, label in enumerate(right)]
    lines = [[text, label, f"{value}!"] for text, label, value in zip(texts(rows), given, right, strict=True)]
    report = check(write_csv(tmp_path / "a.csv", [["text", "label", "tells"], *lines]), text="text", label="label")
    assert ("label-given-away" in found(report)) is told


def test_a_label_that_stands_in_its_text_is_found(tmp_path: Path, check: Check) -> None:
    named = {i: f"{text} a {label} thing" for i, (text, label) in enumerate(zip(texts(60), labels(60), strict=True), 1)}
    assert len(found(check(reviews(tmp_path / "a.csv", text=named)))["label-in-text"]) == 60
    both = {i: f"{text}: good or bad?" for i, text in enumerate(texts(60), 1)}
    assert "label-in-text" not in found(check(reviews(tmp_path / "b.csv", text=both)))


def test_leaks_between_the_files_of_a_folder_are_found(tmp_path: Path, check: Check) -> None:
    train, dev = texts(60), texts(30, seed=9)
    dev[4], dev[6] = f" {train[10]}", train[20][:-1] + "#"
    rows = {"train": zip(train, labels(60), strict=True), "dev": zip(dev, [*labels(29), "new"], strict=True)}
    for split, made in rows.items():
        write_csv(tmp_path / "data" / f"{split}.csv", [["text", "label"], *made])
    report = check(tmp_path / "data")
    expected = {"leak": (5,), "near-leak": (7,), "unseen-label": (30,)}
    assert {code: found(report).get(code) for code in expected} == expected
    (leak,) = (finding for finding in report.findings if finding.code == "leak")
    assert leak.file.endswith("dev.csv") and leak.what.endswith(
        "train.csv has too; that of the first row is in its row 11"
    )
    assert leak.severity == "error"


def test_groups_and_columns_of_several_files(tmp_path: Path, check: Check) -> None:
    for split, count in (("train", 60), ("dev", 20)):
        made = zip(
            texts(count, seed=count), labels(count), [f"{split} {i}" for i in range(1, count)] + ["both"], strict=True
        )
        write_csv(tmp_path / "data" / f"{split}.csv", [["text", "label", "author"], *made])
    assert found(check(tmp_path / "data", group="author"))["group-leak"] == (20,)
    write_csv(tmp_path / "data" / "test.csv", [["text"], *([text] for text in texts(20, seed=5))])
    assert "missing-column" not in found(check(tmp_path / "data"))
    write_csv(tmp_path / "data" / "dev.csv", [["texts", "label"], *zip(texts(20), labels(20), strict=True)])
    report = check(tmp_path / "data")
    (finding,) = (finding for finding in report.findings if finding.code == "missing-column")
    assert "'text'" in finding.what and finding.file.endswith("dev.csv")


def test_near_duplicates_are_those_alike_by_their_runs_of_letters() -> None:
    made = texts(300, words=20)
    generator = random.Random(3)
    changed = []
    for text in made[:100]:
        place = generator.randrange(len(text) - 30)
        changed.append(text[:place] + "#" + text[place + generator.choice((1, 3, 12, 20)) :])
    alike = {
        300 + i: i for i, (one, other) in enumerate(zip(made, changed, strict=False)) if likeness(one, other) >= LEAST
    }
    assert 20 < len(alike) < 80
    assert dict(near_pairs([*made, *changed])) == alike
    assert dict(near_pairs([made[0], made[0].upper()])) == {1: 0}


def test_of_very_many_texts_a_sample_is_searched_and_that_is_said(
    tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = reviews(tmp_path / "a.csv", text={i: text[:-1] + "#" for i, text in enumerate(texts(30), 31)})
    monkeypatch.setattr(duplicates, "MOST", 50)
    (finding,) = (finding for finding in check(path).findings if finding.code == "near-duplicate")
    assert "in a sample of 50 of the 60 different texts" in finding.what
    assert 15 < finding.count < 30


def test_lengths_and_unknown_tokens_are_told(tmp_path: Path, check: Check) -> None:
    path = reviews(tmp_path / "a.csv", text={3: "☃ " * 30, 9: "the cat " * 40})
    report = check(path, max_length=64)
    assert 9 in found(report, "note")["windows"]
    assert "windows" not in found(check(path, max_length=512))
    assert found(report)["unknown-tokens"] == (3,)
    pairs = [[text, other, label] for text, other, label in zip(texts(60), texts(60, seed=2), labels(60), strict=True)]
    pairs[8][1] = "the cat " * 40
    path = write_csv(tmp_path / "b.csv", [["sentence1", "sentence2", "label"], *pairs])
    assert found(check(path, max_length=256), "warning").get("cut") is None
    assert 9 in found(check(path, max_length=80), "warning")["cut"]


def test_questions_that_are_cut_are_found_whatever_max_length_is(tmp_path: Path, check: Check) -> None:
    rows = questions(30)
    rows[6]["question"] = "the cat " * 40
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    assert found(check(path, max_length=400), "warning")["question-cut"] == (7,)
    assert "question-cut" not in found(check(path, max_length=400, max_question_tokens=90))


def test_without_a_tokenizer_the_other_checks_are_made(in_process: InProcess, tmp_path: Path) -> None:
    path = reviews(tmp_path / "a.csv", text={5: ""})
    code, out, err = in_process("check", str(path), "model=no/network", data=tmp_path)
    assert (code, err) == (0, "")
    assert "note no-tokens: checks of tokens were left out: model 'no/network': cannot be fetched" in out
    assert "warning missing-text" in out


def test_json_is_one_object(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    path = reviews(tmp_path / "a.csv", count=1500, text=dict.fromkeys(range(1, 1201), ""))
    code, out, _ = in_process("check", str(path), f"model={tiny_bert}", "--json", data=tmp_path)
    assert code == 1
    said = json.loads(out)
    assert set(said) == {"files", "format", "rows", "layout", "findings", "counts"}
    assert said["rows"] == {"train": 1500}
    assert said["layout"]["text"] == ["text"] and said["layout"]["reasons"]["label"] == "its name"
    (finding,) = (finding for finding in said["findings"] if finding["code"] == "missing-text")
    assert set(finding) == {"severity", "code", "message", "remedy", "file", "rows", "lines", "count"}
    assert finding["count"] == 1200
    assert finding["rows"] == list(range(1, 1001)) and finding["lines"] == list(range(2, 1002))
    assert sum(said["counts"].values()) == len(said["findings"])
    severities = [finding["severity"] for finding in said["findings"]]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


MENDED = (
    *("header-spaces", "byte-order-mark", "cells", "quote", "bytes", "missing-text", "missing-label", "control"),
    *("not-nfc", "label-variant", "label-spaces", "duplicate"),
)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx", ".csv.gz"])
def test_what_is_mended_is_not_found_again(
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
    assert set(MENDED) <= set(found(check(path)))
    fixed = tmp_path / f"fixed{suffix}"
    code, out, _ = in_process("check", str(path), f"model={tiny_bert}", "--fix", str(fixed), data=tmp_path)
    assert code == 0
    assert path.read_bytes() == before
    told = {
        cells[0].strip(): int(cells[1]) for line in out.splitlines() if len(cells := line.strip("│").split("│")) == 2
    }
    assert told == {
        "byte-order mark removed": 1,
        "names of columns mended": 1,
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
    assert not set(MENDED) & set(found(report))
    assert len(report.parts[0].table) == 60 - 3 - 1 - 1 - 2
    table = read_table(fixed)
    assert table.columns["text"][0] == rows[0][0]
    assert set(table.columns["label"]) == {"good", "bad"}


def test_mojibake_is_repaired_where_that_is_certain(tmp_path: Path, check: Check) -> None:
    odd = {3: "cafÃ© au lait, twice", 5: "Ð¿Ñ€Ð¸Ð²ÐµÑ‚ is a word", 7: "itâ€™s fine, Â£5", 9: "half a cafÃ© 좋아요"}
    (part,) = check(reviews(tmp_path / "bad.csv", text=odd)).parts
    assert write_mended(part, tmp_path / "fixed.csv") == {"cells decoded in the right encoding": 3}
    texts = read_table(tmp_path / "fixed.csv").columns["text"]
    assert [texts[row - 1] for row in odd] == ["café au lait, twice", "привет is a word", "it’s fine, £5", odd[9]]


def test_the_mended_file_of_a_clean_one_is_a_copy(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    path = reviews(tmp_path / "a.csv")
    code, out, _ = in_process("check", str(path), f"model={tiny_bert}", "--fix", str(tmp_path / "b.csv"), data=tmp_path)
    assert code == 0
    assert "nothing, it is a copy" in out
    assert (tmp_path / "b.csv").read_bytes() == path.read_bytes()


def test_answers_move_with_their_context(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    rows = questions(30)
    start = rows[4]["answers"]["answer_start"][0]
    word = rows[4]["answers"]["text"][0]
    rows[4]["context"] = unicodedata.normalize("NFD", "é\0 ") + rows[4]["context"]
    rows[4]["answers"]["answer_start"] = [start + 4]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    fixed = tmp_path / "b.jsonl"
    in_process("check", str(path), f"model={tiny_bert}", "--fix", str(fixed), data=tmp_path)
    mended = [json.loads(line) for line in fixed.read_text(encoding="utf-8").splitlines()]
    assert mended[4]["context"].startswith("é ") and mended[4]["answers"]["answer_start"] == [start + 2]
    assert mended[4]["context"][start + 2 :].startswith(word)
    assert mended[:4] + mended[5:] == rows[:4] + rows[5:]


def test_tags_and_lists_of_labels_are_mended_as_json_lines(
    in_process: InProcess, tmp_path: Path, check: Check, tiny_bert: Path
) -> None:
    rows: list[dict[str, Any]] = [
        {"text": text, "labels": ["a", "b", "c"][i % 3 :]} for i, text in enumerate(texts(60))
    ]
    rows[3]["labels"], rows[5] = ["A", "c "], rows[4]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    fixed = tmp_path / "b.jsonl"
    in_process("check", str(path), f"model={tiny_bert}", "--fix", str(fixed), data=tmp_path)
    mended = [json.loads(line) for line in fixed.read_text().splitlines()]
    assert mended[3]["labels"] == ["a", "c"] and len(mended) == 59
    assert not {"label-variant", "duplicate"} & set(found(check(fixed)))


def test_a_mended_file_keeps_its_cells_unless_they_are_to_be_escaped(
    in_process: InProcess, tmp_path: Path, tiny_bert: Path
) -> None:
    tweets = {row: f"@user {text}" for row, text in enumerate(texts(60), 1)}
    path = reviews(tmp_path / "a.csv", text=tweets | {3: "=HYPERLINK(A1) and more words here", 5: "- no"})
    for option, cells in (([], ["=HYPERLINK", "- no"]), (["--escape-formulas"], ["'=HYPERLINK", "'- no"])):
        fixed = tmp_path / f"fixed{len(option)}.csv"
        _, out, _ = in_process("check", str(path), f"model={tiny_bert}", "--fix", str(fixed), *option, data=tmp_path)
        column = read_table(fixed).columns["text"]
        assert column[2].startswith(cells[0]) and column[4] == cells[1]
        assert ("no spreadsheet runs them" in out and "60" in out) is bool(option)
        assert column[0] == ("'" * bool(option)) + tweets[1]
    code, _, err = in_process("check", str(path), "--escape-formulas", data=tmp_path)
    assert (code, err.splitlines()) == (
        2, ["error: --escape-formulas is for the file that --fix writes. Add --fix FILE, or leave it out"]
    )  # fmt: skip


def test_long_texts_are_looked_at_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    many = texts(40, words=30)
    whole, near = census(many), near_pairs([*many, many[3] + "!"])
    monkeypatch.setattr(characters, "CHUNK", 1_000)
    assert [part.stop - part.start for part in runs_of([400, 400, 400, 5_000, 1])] == [2, 1, 1, 1]
    assert (census(many) == whole).all()
    assert near_pairs([*many, many[3] + "!"]) == near == [(40, 3)]
    assert not list(runs_of([]))


@pytest.mark.parametrize(
    ("rows", "severity", "code", "said"),
    [
        ([{"text": t, "labels": ["a"] if i else ["b"]} for i, t in enumerate(texts(30))],
         "warning", "imbalance", "'a'"),
        ([{"text": t, "labels": [["a"], [], ["b"]][i % 3]} for i, t in enumerate(texts(30))],
         "note", "majority", "33.3"),
        ([{"text": t, "labels": ["a"]} for t in texts(30)], "error", "one-label", "no label but 'a'"),
        ([{"words": t.split(), "tags": ["B-X"] + ["O"] * 11} for t in texts(30)], "note", "majority", "91.7 %"),
        ([{"words": t.split(), "tags": ["B-XY"[: 3 + (i > 0)]] + ["O"] * 11} for i, t in enumerate(texts(30))],
         "warning", "imbalance", "96.7 % of the entities are of the type 'XY'"),
    ],
)  # fmt: skip
def test_what_it_scores_to_answer_always_the_same(
    rows: list[dict[str, Any]], severity: str, code: str, said: str, tmp_path: Path, check: Check
) -> None:
    report = check(write_jsonl(tmp_path / "a.jsonl", rows))
    assert any((one.severity, one.code) == (severity, code) and said in one.what for one in report.findings), (
        report.findings
    )


def test_the_tokens_of_every_file_are_looked_at(tmp_path: Path, check: Check) -> None:
    folder = tmp_path / "reviews"
    reviews(folder / "train.csv")
    write_csv(folder / "test.csv", [["text", "label"], *zip(texts(20, words=200, seed=3), labels(20), strict=True)])
    report = check(folder, max_length=256)
    assert {Path(one.file).name for one in report.findings if one.code == "token-lengths"} == {"train.csv", "test.csv"}
    assert [Path(one.file).name for one in report.findings if one.code == "windows"] == ["test.csv"]


def test_words_and_labels_of_control_characters_alone_are_dropped(tmp_path: Path, check: Check) -> None:
    rows = tagged(20)
    rows[3]["words"][0] = "\u200b"
    part = check(write_jsonl(tmp_path / "a.jsonl", rows)).parts[0]
    assert write_mended(part, tmp_path / "b.jsonl") == {"rows dropped with an empty word": 1}
    part = check(reviews(tmp_path / "a.csv", label={5: "\0"}, text={7: "\u200b"})).parts[0]
    told = {"rows dropped without a label": 1, "rows dropped without a text": 1}
    assert write_mended(part, tmp_path / "b.csv") == told
    assert len(read_table(tmp_path / "b.csv")) == 58


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.csv"], "no recipe or file is called 'nowhere.csv'"),
        (["empty.csv"], "empty.csv: is empty"),
        (["good.csv", "text=txet"], "has no column 'txet' (text=txet). Did you mean 'text'"),
        (["good.csv", "epochs=3"], "unknown key 'epochs'. Did you mean 'train.epochs'?"),
        (["good.csv", "good.csv"], "2 things to check"),
        (["good.csv", "--fix", "good.csv"], "good.csv is already there, and --fix replaces no file"),
        (["good.csv", "--fix", "new.docx"], "new.docx"),
        (["good.csv", "--fix", "nowhere/new.csv"], "nowhere/new.csv: cannot be written"),
        (["lists.jsonl", "--fix", "new.csv"], "hold lists. Name a file that ends with .jsonl"),
        (["folder", "--fix", "new.csv"], "--fix writes one file, and folder is a folder"),
        (["glue-rte", "--fix", "new.csv"], "--fix is for data of your own"),
        (["zip.csv"], "is a zip archive, which is not read"),
    ],
)
def test_what_cannot_be_checked_ends_with_2(
    arguments: list[str], said: str, in_process: InProcess, tmp_path: Path, tiny_bert: Path
) -> None:
    reviews(tmp_path / "good.csv")
    reviews(tmp_path / "folder" / "train.csv")
    write_jsonl(tmp_path / "lists.jsonl", tagged(20))
    (tmp_path / "empty.csv").touch()
    (tmp_path / "zip.csv").write_bytes(b"PK\x03\x04 and more")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    code, out, err = in_process("check", *arguments, f"model={tiny_bert}", data=tmp_path)
    assert (code, out) == (2, "")
    assert said in err and len(err.splitlines()) == 1
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_the_benchmark_of_check_runs(tmp_path: Path) -> None:
    out = tmp_path / "speed.json"
    folder = Path(__file__).resolve().parents[1] / "benchmarks"
    done = subprocess.run(
        [sys.executable, "check_speed.py", "--rows", "400", "--out", out], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(out.read_text())
    assert measured["rows"] == 400
    assert measured["seconds"] > 0 and 0.1 < measured["peak_gigabytes"] < 2


def test_scripts_of_any_alphabet_are_named(tmp_path: Path, check: Check) -> None:
    odd = {5: "ეს წინადადება ქართულად არის", 6: "இது ஒரு தமிழ் வாக்கியம்", 7: "Սա հայերեն նախադասություն է"}
    (finding,) = (one for one in check(reviews(tmp_path / "a.csv", text=odd)).findings if one.code == "scripts")
    assert finding.rows == tuple(odd)
    assert all(name in finding.what for name in ("Latin", "Georgian", "Tamil", "Armenian"))
