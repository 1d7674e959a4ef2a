"""Whether two columns of texts are a pair, by their cells: texts of one row share more than texts of different rows."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from finetune.data.column_types import ColumnFacts
from finetune.data.values import as_text, is_missing

ROWS_LOOKED_AT = 400
FEWEST_ROWS = 8  # rows that tell
MORE = 0.1  # share of the shorter text that is in the other one, above what texts of different rows share: 0.3 to 0.7
COPIES = 0.95  # with a larger share one is the other one, cleaned
FILLED = 0.98
NAME_CHARS = {False: 15, True: 6}  # characters, of scripts with and without spaces: shorter ones are names or phrases
GAPS, LONGER = 0.9, 2  # share of filled cells, and times longer: a place or a note next to the text


def are_a_pair(facts: Sequence[ColumnFacts], cells: Sequence[Sequence[Any]]) -> bool:
    """Whether both columns hold sentences in every row, and those of a row are about the same."""
    whole = all(fact.share >= FILLED and fact.length >= NAME_CHARS[fact.unspaced] for fact in facts)
    return whole and _are_related(*cells)


def the_text(facts: Sequence[ColumnFacts]) -> str:
    """Of two columns that are no pair the one that must be the text: the other one is short, with gaps; else empty."""
    short, long = sorted(facts, key=lambda fact: fact.length)
    return long.name if short.share < GAPS < long.share and long.length > LONGER * short.length else ""


def _are_related(firsts: Sequence[Any], seconds: Sequence[Any]) -> bool:
    rows = [
        (_pieces(one), _pieces(other))
        for one, other in islice(zip(firsts, seconds, strict=True), ROWS_LOOKED_AT)
        if not is_missing(one) and not is_missing(other)
    ]
    if len(rows) < FEWEST_ROWS:
        return False
    away = len(rows) // 3 + 1  # rows near each other may have a text in common
    other = [(one, rows[(place + away) % len(rows)][1]) for place, (one, _) in enumerate(rows)]
    same = _shared(rows)
    return same <= COPIES and same - _shared(other) > MORE


def _pieces(cell: Any) -> frozenset[str]:
    """Each three characters of a text, so that inflected words count, or two in a script without spaces."""
    text = as_text(cell).lower()
    size = 2 if any("\u2e80" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" for char in text) else 3
    return frozenset(text[start : start + size] for start in range(len(text) - size + 1))


def _shared(rows: Sequence[tuple[frozenset[str], frozenset[str]]]) -> float:
    """The mean share of the smaller set that is in the other one."""
    return sum(len(one & other) / max(1, min(len(one), len(other))) for one, other in rows) / len(rows)
