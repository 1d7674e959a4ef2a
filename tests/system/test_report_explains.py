"""`finetune report --explain`: what words add, next to the rows of the report."""

import json
import re
import sys
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error

from finetune.inference.explain.of_run import chosen

pytest.importorskip("captum", reason="needs the extra `explain`")


def test_rows_of_a_report_have_what_their_words_add(reviews: Path, in_process: InProcess, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    code, *_ = in_process("report", str(reviews), "--explain", "3", "-o", str(page), data="")
    assert code == 0
    assert "what each word adds" in page.read_text()
    assert re.search(r'<span class="(for|against)" style="--weight: 70%"', page.read_text())


def test_a_missing_extra_is_one_line(reviews: Path, in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "captum", None)
    assert_error(in_process("report", str(reviews), "--explain", "3", data="")[2], "bert-finetune[explain]")


def test_confident_errors_come_first_then_right_rows() -> None:
    lines = [
        {"id": str(i), "text": "a", "pair": None, "gold": "a", "answer": answer, "probabilities": [p, 1 - p]}
        for i, (answer, p) in enumerate([("a", 0.9), ("b", 0.4), ("b", 0.1), ("a", 0.8), ("a", 0.7)])
    ]
    assert [line["id"] for line in chosen(lines, 2)] == ["2", "1", "0"]
    assert json.dumps(chosen(lines, 1)) == json.dumps([lines[2], lines[0]])
