"""Markdown of a card: tables, lists and code, in which no label or file name is markup."""

import re
from collections.abc import Iterable, Sequence

from finetune.task_types.marked_text import clean

NAME_CHARS = 60  # of a label, a column or a file
MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")


def code(text: object, longest: int = NAME_CHARS) -> str:
    """A name as code on one line, which also holds in the cell of a table."""
    words = " ".join(clean(str(text)).split())
    words = words if len(words) <= longest else f"{words[: longest - 1]}…"
    return f"`{words}`".replace("|", "\\|") if "`" not in words else f"`` {words} ``".replace("|", "\\|")


def escaped(text: str) -> str:
    """A sentence in which a label may have signs of Markdown or HTML."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))


def code_block(text: str, language: str) -> str:
    """A block of code."""
    return f"```{language}\n{text}\n```"


def card_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """A table whose first `left` columns are words and whose others are numbers; empty without rows."""
    lines = [list(row) for row in rows]
    if not lines:
        return ""
    rule = ["---"] * left + ["--:"] * (len(columns) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, rule, *lines))


def bullets(points: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {point}" for point in points)


def section(title: str, *parts: str) -> str:
    """A section of the parts that are not empty; empty where all are."""
    kept = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *kept]) if kept else ""
