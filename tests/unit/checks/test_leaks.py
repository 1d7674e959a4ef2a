"""`finetune check`: columns that leak the label, and rows in several splits."""

import random
from pathlib import Path

import pytest
from support.checked_files import Check, found, labels, texts, write_csv, write_jsonl


def given_away(check: Check, path: Path, **settings: str) -> list[str]:
    """The columns that are said to give the label away."""
    return [one.what.split("'")[1] for one in check(path, **settings).findings if one.code == "label-given-away"]


def test_columns_that_give_the_label_away_are_found(tmp_path: Path, check: Check) -> None:
    generator = random.Random(0)
    rows = [
        [i, text, label, f"{label} {i % 3}", generator.choice("xyz"), label[0] if i < 55 else ""]
        for i, (text, label) in enumerate(zip(texts(60), sorted(labels(60)), strict=True))
    ]
    names = ["id", "text", "label", "tells", "random", "nearly"]
    path = write_csv(tmp_path / "a.csv", [names, *rows])
    assert given_away(check, path, text="text", label="label") == ["tells", "nearly"]
    pairs = [*zip(texts(60), labels(60), strict=True)]
    nested = [{"text": text, "answer": {"of": {"label": label, "code": label[0]}}} for text, label in pairs]
    listed = [{"text": text, "answers": [{"label": label}]} for text, label in pairs]
    for made, name, told in ((nested, "answer.of.label", ["answer.of.code"]), (listed, "answers.label", [])):
        path = write_jsonl(tmp_path / "a.jsonl", made)
        assert given_away(check, path, text="text", label=name) == told, "what holds the label does not"


@pytest.mark.parametrize(
    ("rows", "rare", "wrong", "told"),
    [
        (40, 20, 1, True),  # one misspelt label
        (400, 200, 30, False),
        (400, 12, 12, False),  # wrong where it counts: 97 % have one label whatever the column says
    ],
)
def test_a_few_wrong_rows_hide_no_leak(
    tmp_path: Path, check: Check, rows: int, rare: int, wrong: int, told: bool
) -> None:
    right = ["bad" if row < rare else "good" for row in range(rows)]
    given = ["baad" if row == 0 and wrong else "good" if row < wrong else label for row, label in enumerate(right)]
    lines = [[text, label, f"{value}!"] for text, label, value in zip(texts(rows), given, right, strict=True)]
    report = check(write_csv(tmp_path / "a.csv", [["text", "label", "tells"], *lines]), text="text", label="label")
    assert ("label-given-away" in found(report)) is told


def test_leaks_between_the_files_of_a_folder_are_found(tmp_path: Path, check: Check) -> None:
    train, dev = texts(60), texts(30, seed=9)
    dev[4] = f" {train[10]}"
    rows = {"train": zip(train, labels(60), strict=True), "dev": zip(dev, [*labels(29), "new"], strict=True)}
    for split, made in rows.items():
        write_csv(tmp_path / "data" / f"{split}.csv", [["text", "label"], *made])
    report = check(tmp_path / "data")
    expected = {"leak": (5,), "unseen-label": (30,)}
    assert {code: found(report).get(code) for code in expected} == expected
    (leak,) = (finding for finding in report.findings if finding.code == "leak")
    assert leak.file.endswith("dev.csv") and leak.what.endswith("train.csv; that of the first row is in its row 11")
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


def test_texts_and_groups_that_a_column_puts_into_both_splits(tmp_path: Path, check: Check) -> None:
    pairs = zip(texts(60), labels(60), strict=True)
    rows = [[text, label, f"author {i % 20}", "train"] for i, (text, label) in enumerate(pairs)]
    for i in (3, 23):  # one of three rows of author 3, and two rows of one text
        rows[i][3] = "dev"
    rows[50][:2], rows[23][:2] = rows[23][:2], rows[23][:2]
    path = write_csv(tmp_path / "rows.csv", [["text", "label", "author", "part"], *rows])
    report = check(path, split="part", group="author")
    assert (found(report)["leak"], found(report)["group-leak"]) == ((24,), (4, 24))
    assert "part" in next(finding.what for finding in report.findings if finding.code == "leak")
    assert {"leak", "group-leak"}.isdisjoint(found(check(path, group="author")))


def test_queries_that_a_column_puts_into_both_splits(tmp_path: Path, check: Check) -> None:
    rows = [
        [f"what is thing {query}?", f"passage {place} of {query}", int(not place), "dev" if query > 30 else "train"]
        for query in range(40)
        for place in range(4)
    ]
    rows[5][3] = "dev"
    path = write_csv(tmp_path / "rows.csv", [["query", "passage", "label", "part"], *rows])
    assert found(check(path, split="part"))["leak"] == (6,)
