"""Files of questions with choices: texts that differ, and columns that a test changes."""

import json
from pathlib import Path
from typing import Any

WORDS = ("river", "market", "garden", "window", "letter", "winter", "valley", "bridge")


def text(number: int, words: int = 6) -> str:
    return " ".join(WORDS[(number * 7 + place * 3 + number // 8) % 8] for place in range(words)) + f" {number}"


def write(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def rows(count: int = 60, **columns: Any) -> list[dict[str, Any]]:
    return [{name: make(i) if callable(make) else make for name, make in columns.items()} for i in range(count)]


def exam(folder: Path, **columns: Any) -> str:
    """A question with three choices, but for the columns that are changed."""
    usual: dict[str, Any] = {
        "question": lambda i: text(i, 12), "choice1": text, "choice2": lambda i: text(i + 1),
        "choice3": lambda i: text(i + 2), "label": lambda i: i % 3,
    }  # fmt: skip
    return write(folder, rows(**{**usual, **columns}))


def quiz(folder: Path, **columns: Any) -> str:
    """A question with choices A, B and C, and these columns."""
    letters: dict[str, Any] = {letter: lambda i, n=n: text(i + n, 2) for n, letter in enumerate("ABC")}
    return write(folder, rows(question=lambda i: text(i, 12), **letters, **columns))
