"""Made-up files to be checked, and the findings of a check."""

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from finetune.commands.check.findings import Findings, findings_of


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


def found(report: Findings, *severities: str) -> dict[str, tuple[int, ...]]:
    """The rows of each finding by its code."""
    wanted = severities or ("error", "warning", "note")
    return {finding.code: finding.rows for finding in report.findings if finding.severity in wanted}


@pytest.fixture
def check(tiny_bert: Path) -> Callable[..., Findings]:
    def call(path: Path, **settings: object) -> Findings:
        return findings_of(str(path), {"model": str(tiny_bert), **settings})

    return call


Check = Callable[..., Findings]


def tagged(count: int) -> list[dict[str, Any]]:
    """Sentences with two entities each."""
    made = [text.split() for text in texts(count)]
    return [{"words": words, "tags": ["B-PER", "I-PER", "O", "B-LOC", *["O"] * (len(words) - 4)]} for words in made]


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
