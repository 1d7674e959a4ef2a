"""Ranks the columns that could be the text, or the two texts of a pair: by name, and by content."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from finetune.data.column_types import ColumnFacts
from finetune.data.formats.delimited import dialect_of
from finetune.data.values import as_text
from finetune.data.words.lists import pair_list
from finetune.task_types.candidates import LABEL_WORDS, Ambiguous
from finetune.task_types.column_names import is_about, is_id_name, named, text_tier
from finetune.task_types.own_type import Evidence

ROWS_LOOKED_AT = 400
FEWEST_ROWS = 8  # rows that tell
MORE = 0.1  # share of the shorter text that is in the other one, above what texts of different rows share: 0.3 to 0.7
COPIES = 0.95  # with a larger share one is the other one, cleaned
FILLED = 0.98
NAME_CHARS = {False: 15, True: 6}  # characters, of scripts with and without spaces: shorter ones are names or phrases
GAPS, LONGER = 0.9, 2  # share of filled cells, and times longer: a place or a note next to the text
FEW_ROWS = 5  # names that a column may contain by chance
COLUMNS_OFFERED, PAIRS_OFFERED = 5, 3  # columns in a question; the first ones are also offered as pairs
FREE = 1.2  # words per cell from which a column may be a text
PAIRED = (  # in names of first texts, and what second ones have there: a number, a letter alone or at the end, a word
    (r"(?<!\d)1(?=.)|(?<=\D)1", "2"),
    (r"(?<![^\W\d_])a$", "b"),
    (r"(?<![^\W\d_])A$", "B"),
    *((r"(?i)title$", body) for body in ("body", "text", "content")),
    (r"(?i)headline$", "body"),
)


def best_texts(evidence: Evidence, taken: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """(the text, or a pair, of columns that are not taken; why); none where no column is a text.

    Raises Ambiguous as `best_label` does.
    """
    free = {name: fact for name, fact in evidence.facts.items() if name not in taken and _may_be_text(fact)}
    header = dialect_of(evidence.table.form).header
    if header and (pair := _pair(free, evidence)):
        return pair, "their names: a pair"
    tiers = {name: tier for name in free if (tier := text_tier(name)) is not None}
    unnamed = [name for name in free if name not in tiers and is_free_text(free[name])]
    strongest = min(tiers.values(), default=None)
    if strongest in (0, 1):
        return _only([name for name in tiers if tiers[name] == strongest], free, evidence.file), "its name"
    if tiers and not any(free[name].words >= LABEL_WORDS for name in unnamed):
        return _only(list(tiers), free, evidence.file), "its name"
    texts = [*tiers, *unnamed]
    if len(texts) == 2 and not header:
        return _unnamed(texts, free, evidence)
    texts = texts or [name for name, fact in free.items() if not fact.marks]
    return (_only(texts, free, evidence.file), "the only column of texts") if texts else ((), "none was found")


def is_free_text(fact: ColumnFacts) -> bool:
    """Whether cells are texts of more than a word, or of a script without spaces."""
    return fact.kind == "text" and (fact.words >= FREE or fact.unspaced)


def _unnamed(texts: Sequence[str], free: Mapping[str, ColumnFacts], evidence: Evidence) -> tuple[tuple[str, ...], str]:
    """Two columns of texts without names: a pair, a text and something short with gaps, or a question."""
    if _are_a_pair(texts, evidence):
        return tuple(texts), "the two columns of texts, which share words: a pair"
    short, long = sorted((free[name] for name in texts), key=lambda fact: fact.length)
    if short.share < GAPS < long.share and long.length > LONGER * short.length:
        return (long.name,), "the other column has gaps"
    return _only(texts, free, evidence.file), ""


def _may_be_text(fact: ColumnFacts) -> bool:
    if fact.kind not in ("text", "category") or is_about(fact.name) or is_id_name(fact.name):
        return False
    says_text = text_tier(fact.name) in (0, 1)  # also where all rows have the same
    return fact.share > 0.02 and (fact.distinct > 1 or fact.filled < FEW_ROWS or says_text)


def _pair(free: Mapping[str, ColumnFacts], evidence: Evidence) -> tuple[str, ...]:
    """Two texts by their names: listed ones, such that differ in a number or letter, a title and a body."""
    varied = [n for n, f in free.items() if f.filled < 50 or (f.kind == "text" and f.distinct > 0.1 * f.filled)]
    for pair in pair_list("text_pairs"):
        if len(columns := named(varied, pair)) == 2:
            return tuple(columns)
    names = [name for name, fact in free.items() if is_free_text(fact) or text_tier(name) is not None]
    for pattern, ending in PAIRED:
        alike = [
            (name, other)
            for name in names
            for part in re.finditer(pattern, name)
            for other in names
            if other.lower() == f"{name[: part.start()]}{ending}{name[part.end() :]}".lower()
        ]
        if len(alike) == 1:
            says = len(ending) > 1 or text_tier(alike[0][0]) is not None or len(alike[0][0]) == 1
            if says or _are_a_pair(alike[0], evidence):  # q1 and q2 may be answers
                return alike[0]
    return ()


def _only(texts: Sequence[str], free: Mapping[str, ColumnFacts], file: str) -> tuple[str, ...]:
    """The only one of these. Raises Ambiguous with each of them, each two as a pair, and then other columns."""
    if len(texts) == 1:
        return (texts[0],)
    likely = texts[:COLUMNS_OFFERED]
    others = sorted((name for name in free if name not in likely), key=lambda name: -free[name].length)
    single = [(f"text={n}", f"{free[n].words:.0f} words a row") for n in [*likely, *others[:COLUMNS_OFFERED]]]
    pairs = [(f"text={text},{other}", "as a pair") for text, other in combinations(likely[:PAIRS_OFFERED], 2)]
    choices = [*single[: len(likely)], *pairs, *single[len(likely) :]]
    raise Ambiguous(f"{file}: {len(texts)} columns could be the text", choices)


def _are_a_pair(names: Sequence[str], evidence: Evidence) -> bool:
    """Whether both columns hold sentences in every row, which share more words than sentences of two rows."""
    facts = [evidence.facts[name] for name in names]
    if not all(fact.share >= FILLED and fact.length >= NAME_CHARS[fact.unspaced] for fact in facts):
        return False
    rows = [(_pieces(a), _pieces(b)) for a, b in evidence.rows(names, ROWS_LOOKED_AT)]
    if len(rows) < FEWEST_ROWS:
        return False
    away = len(rows) // 3 + 1  # rows near each other may have a text in common
    other = [(text, rows[(place + away) % len(rows)][1]) for place, (text, _) in enumerate(rows)]
    same = _shared(rows)
    return same <= COPIES and same - _shared(other) > MORE


def _pieces(cell: Any) -> frozenset[str]:
    """Each three characters of a text, so that inflected words count, or two in a script without spaces."""
    text = as_text(cell).lower()
    size = 2 if any("\u2e80" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" for char in text) else 3
    return frozenset(text[start : start + size] for start in range(len(text) - size + 1))


def _shared(rows: Sequence[tuple[frozenset[str], frozenset[str]]]) -> float:
    """The mean share of the smaller set that is in the other one."""
    return sum(len(text & other) / max(1, min(len(text), len(other))) for text, other in rows) / len(rows)
