"""Words as input, whatever each of them has: which column holds them, and the words in its cells."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from finetune.data.messages import short
from finetune.data.values import as_list, is_missing, is_nested, tags_of
from finetune.data.words.lists import word_list
from finetune.task_types.column_names import named
from finetune.task_types.own_type import Evidence
from finetune.task_types.row_issues import EMPTY_WORD, MISSING_TEXT, NoRow

ROWS_LOOKED_AT = 1_000


def words_for(evidence: Evidence, taken: Sequence[str]) -> str | None:
    """The column of words: one with as many items a row as `taken[0]`, by its name, or else the most varied."""
    if not taken:
        return None
    columns, facts, tags = evidence.columns, evidence.facts, taken[0]
    free = [name for name in columns if name not in taken and as_long(columns[name], columns[tags])]
    if by_name := named(free, word_list("words")):
        return by_name[0]
    kind = "list" if facts[tags].kind == "list" else "text"
    alike = [name for name in free if facts[name].kind == kind and not are_numbers(columns[name])]
    return max(alike, key=lambda name: len({*items_of(columns[name])}), default=None)


def as_long(words: Sequence[Any], tags: Sequence[Any]) -> bool:
    """Whether nearly all rows have a word for each tag or number."""
    pairs = islice(zip(words, tags, strict=True), ROWS_LOOKED_AT)
    equal = [len(tags_of(w)) == len(tags_of(t)) for w, t in pairs if not is_missing(w) and not is_missing(t)]
    return bool(equal) and sum(equal) >= 0.8 * len(equal)


def items_of(cells: Sequence[Any]) -> list[str]:
    """What the first lists hold, or texts with spaces between their items."""
    filled = islice((cell for cell in cells if not is_missing(cell)), ROWS_LOOKED_AT)
    return [item for cell in filled for item in tags_of(cell)]


def are_numbers(cells: Sequence[Any]) -> bool:
    """Whether the first lists hold whole numbers alone."""
    return all(item.lstrip("-").isdigit() for item in items_of(cells)[:500])


def words_in(cell: Any, column: str, *, blanks: bool = False) -> list[str]:
    """The words in a cell.

    Raises NoRow where there are none, for objects, and for an empty one unless `blanks` may be words.
    """
    if isinstance(cell, dict) or is_nested(as_list(cell)):
        raise NoRow(f"has {short(cell)} in the column '{column}'; expected words")
    words = tags_of(cell)
    if not any(word.strip() for word in words):
        raise NoRow(f"has no words in the column '{column}'", MISSING_TEXT)
    if not blanks and not all(word.strip() for word in words):
        raise NoRow(f"has an empty word in the column '{column}'", EMPTY_WORD)
    return words
