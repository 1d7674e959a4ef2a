"""What `finetune check` can find is declared once, and no text or label of a user's is taken for a reason."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import write_csv, write_jsonl

from finetune.checks import across_splits, cells, labels
from finetune.checks.all_checks import CHECKS, every_issue, findings
from finetune.checks.split_data import SplitFile, part_of
from finetune.data.issues import READING, Finding
from finetune.data.reading import read_table
from finetune.task_types.columns import SHARED, Layout
from finetune.task_types.types import own_types

ROOT = Path(__file__).resolve().parents[3]
ISSUES = every_issue()
HOSTILE = [
    "no words",
    "missing text",
    "has no text",
    "no number",
    "0 or 1",
    "empty word",
    "words and",
    "has the tag",
    "fewer than two",
    "quote",
    "expected 2 cells",
    "is not JSON",
    "another encoding",
]


def codes(path: Path, layout: Layout) -> dict[str, tuple[int, ...]]:
    """The rows of each error and warning on rows that cannot be read or used, by its code."""
    lost = {
        issue.code for issue in (*READING, *SHARED, *(issue for kind in own_types().values() for issue in kind.issues))
    }
    found = findings([part_of("train", layout, read_table(path))])
    return {finding.code: finding.rows for finding in found if finding.code in lost}


@pytest.mark.parametrize("label", HOSTILE)
def test_a_label_in_the_words_of_another_reason_changes_no_code(label: str, tmp_path: Path) -> None:
    rows: list[list[object]] = [["text", "score"], *([f"text {i}", i / 7] for i in range(40)), ["a text", label]]
    layout = Layout(shape="regression", text=("text",), label=("score",))
    assert codes(write_csv(tmp_path / "a.csv", rows), layout) == {"no-number": (41,)}


@pytest.mark.parametrize("label", HOSTILE)
def test_a_label_that_is_none_of_the_choices_has_its_own_code(label: str, tmp_path: Path) -> None:
    good: list[dict[str, Any]] = [{"q": f"question {i}", "a": "milk", "b": "sand", "y": i % 2} for i in range(40)]
    path = write_jsonl(tmp_path / "a.jsonl", [*good, {"q": "question", "a": "milk", "b": "sand", "y": label}])
    layout = Layout(shape="choice", text=("q", "a", "b"), label=("y",), contexts=1)
    assert codes(path, layout) == {"label-range": (41,)}


@pytest.mark.parametrize("tag", HOSTILE)
def test_an_unknown_tag_has_its_own_code(tag: str, tmp_path: Path) -> None:
    good: list[dict[str, Any]] = [{"words": ["in", f"Bonn{i}"], "tags": ["O", "B-LOC"]} for i in range(40)]
    path = write_jsonl(tmp_path / "a.jsonl", [*good, {"words": ["in", "Bonn"], "tags": ["O", tag]}])
    layout = Layout(shape="tagging", text=("words",), label=("tags",))
    assert codes(path, layout) == {"no-tag": (41,)}


@pytest.mark.parametrize("cell", HOSTILE)
def test_a_cell_too_many_is_a_cell_too_many_whatever_it_holds(cell: str, tmp_path: Path) -> None:
    lines = ["text,label", *(f"text {i},{'good' if i % 2 else 'bad'}" for i in range(40)), f"a text, {cell},good"]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    layout = Layout(shape="classification", text=("text",), label=("label",))
    assert codes(path, layout) == {"cells": (41,)}


@pytest.mark.parametrize("column", ["no words", "0 or 1", "empty word"])
def test_the_name_of_a_column_changes_no_code(column: str, tmp_path: Path) -> None:
    rows: list[list[object]] = [[column, "score"], *([f"text {i}", i / 7] for i in range(40)), ["", 1.5]]
    layout = Layout(shape="regression", text=(column,), label=("score",))
    assert codes(write_csv(tmp_path / "a.csv", rows), layout) == {"missing-text": (41,)}


def test_every_issue_is_declared_once() -> None:
    assert len({issue.code for issue in ISSUES}) == len(ISSUES)


def test_every_check_is_made() -> None:
    """A public function of one split in a file of checks is one of them."""
    for file in (cells, labels, across_splits):
        public = [value for name, value in vars(file).items() if callable(value) and not name.startswith("_")]
        of_a_split = [value for value in public if getattr(value, "__annotations__", {}).get("part") is SplitFile]
        declared = {check for check in of_a_split if check.__annotations__["return"] == Iterator[Finding]}
        assert declared - {across_splits.missing_columns} <= set(CHECKS), file.__name__


def test_every_finding_has_a_meaning_in_both_languages() -> None:
    korean = tomllib.loads((ROOT / "docs" / "generate" / "findings_ko.toml").read_text(encoding="utf-8"))
    assert [*korean] == [issue.code for issue in ISSUES]
    assert all(korean.values())
    assert all(issue.meaning and issue.remedy for issue in ISSUES)
