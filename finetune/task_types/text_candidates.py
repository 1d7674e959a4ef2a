"""Ranks the columns that could be the text, or the two texts of a pair: by name, and by content."""

from collections.abc import Mapping, Sequence
from itertools import combinations, islice
from typing import Any

from finetune.data.column_types import ColumnFacts
from finetune.data.values import as_text, is_missing
from finetune.data.words.lists import pair_list
from finetune.task_types.candidates import LABEL_WORDS, Ambiguous
from finetune.task_types.column_names import is_about, is_id_name, named, text_tier

ROWS_LOOKED_AT = 400
FEWEST_ROWS = 8  # rows that tell
MORE = 0.1  # share of the shorter text that is in the other one, above what texts of different rows share: 0.3 to 0.7
COPIES = 0.95  # with a larger share one is the other one, cleaned
FILLED = 0.98
NAME_CHARS = {False: 15, True: 6}  # characters, of scripts with and without spaces: shorter ones are names or phrases
GAPS, LONGER = 0.9, 2  # share of filled cells, and times longer: a place or a note next to the text
FEW_ROWS = 5  # names that a column may contain by chance
COLUMNS_OFFERED, PAIRS_OFFERED = 5, 3  # columns of a question, and of those that may be pairs
FREE = 1.2  # words per cell from which a column may be a text


def best_texts(
    facts: Mapping[str, ColumnFacts],
    label: Sequence[str],
    columns: Mapping[str, Sequence[Any]],
    *,
    header: bool,
    file: str,
) -> tuple[tuple[str, ...], str]:
    """(the text, or a pair; why); none where no column is a text. Raises Ambiguous as `best_label` does."""
    free = {name: fact for name, fact in facts.items() if name not in label and _may_be_text(fact)}
    if header and (pair := _pair(free, columns)):
        return pair, "their names: a pair"
    tiers = {name: tier for name in free if (tier := text_tier(name)) is not None}
    for strong in (0, 1):
        some = [name for name, tier in tiers.items() if tier == strong]
        if some:
            return _only(some, free, file), "its name"
    unnamed = [name for name in free if name not in tiers and _is_free_text(free[name])]
    if tiers and not any(free[name].words >= LABEL_WORDS for name in unnamed):
        return _only(list(tiers), free, file), "its name"
    some = [*tiers, *unnamed]
    if len(some) == 2 and not header:
        return _unnamed(some, free, columns, file)
    if some:
        return _only(some, free, file), "the only column of texts"
    rest = [name for name, fact in free.items() if fact.kind in ("text", "category") and not fact.marks]
    return (_only(rest, free, file), "the only column of texts") if rest else ((), "none was found")


def _unnamed(
    some: Sequence[str], free: Mapping[str, ColumnFacts], columns: Mapping[str, Sequence[Any]], file: str
) -> tuple[tuple[str, ...], str]:
    """Two columns of texts without names: a pair, a text with something else, or a question."""
    facts = [free[name] for name in some]
    if are_a_pair(facts, [columns[name] for name in some]):
        return tuple(some), "the two columns of texts, which share words: a pair"
    return ((one,), "the other column has gaps") if (one := the_text(facts)) else (_only(some, free, file), "")


def _may_be_text(fact: ColumnFacts) -> bool:
    if fact.kind not in ("text", "category") or is_about(fact.name) or is_id_name(fact.name):
        return False
    says_text = text_tier(fact.name) in (0, 1)  # also where all rows have the same
    return fact.share > 0.02 and (fact.distinct > 1 or fact.filled < FEW_ROWS or says_text)


def _is_free_text(fact: ColumnFacts) -> bool:
    return fact.kind == "text" and (fact.words >= FREE or fact.unspaced)


def _pair(free: Mapping[str, ColumnFacts], columns: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    some = {n: f for n, f in free.items() if f.filled < 50 or (f.kind == "text" and f.distinct > 0.1 * f.filled)}
    for pair in pair_list("text_pairs"):
        if len(found := named(some, pair)) == 2:
            return tuple(found)
    names = [name for name, fact in free.items() if _is_free_text(fact) or text_tier(name) is not None]
    for first, second in (("1", "2"), ("a", "b"), ("A", "B")):
        alike = [(one, other) for one in names for other in names if _differ(one, other, first, second)]
        if len(alike) == 1 and _says_pair(alike[0], free, columns):
            return alike[0]
    for stem, body in (("title", "body"), ("title", "text"), ("title", "content"), ("headline", "body")):
        parts = [(a, f"{a[: -len(stem)]}{body}") for a in names if a.lower().endswith(stem)]
        alike = [(a, b) for a, wanted in parts for b in names if b.lower() == wanted.lower()]
        if len(alike) == 1:
            return alike[0]
    return ()


def _says_pair(pair: tuple[str, str], free: Mapping[str, ColumnFacts], columns: Mapping[str, Sequence[Any]]) -> bool:
    """Whether names that differ in a number are those of texts, or the texts are related: q1 and q2 may be answers."""
    says = text_tier(pair[0]) is not None or len(pair[0]) == 1
    return says or are_a_pair([free[name] for name in pair], [columns[name] for name in pair])


def _differ(one: str, other: str, first: str, second: str) -> bool:
    """Whether two names differ only in `first` where the other has `second`, as in question1 and question2."""
    if len(one) != len(other) or sum(a != b for a, b in zip(one, other, strict=True)) != 1:
        return False
    place = next(i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
    if (one[place], other[place]) != (first, second):
        return False
    if first.isdigit():
        return len(one) > 1 and not one[place - 1 : place].isdigit()
    return len(one) == 1 or (place == len(one) - 1 and not one[place - 1].isalpha())


def _only(some: Sequence[str], free: Mapping[str, ColumnFacts], file: str) -> tuple[str, ...]:
    """The only one of these. Raises Ambiguous with each of them, each two as a pair, and then other columns."""
    if len(some) == 1:
        return (some[0],)
    likely = some[:COLUMNS_OFFERED]
    pairs = [(f"text={one},{other}", "as a pair") for one, other in combinations(likely[:PAIRS_OFFERED], 2)]
    others = sorted((name for name in free if name not in likely), key=lambda name: -free[name].length)[
        :COLUMNS_OFFERED
    ]
    single = [(f"text={name}", f"{free[name].words:.0f} words a row") for name in [*likely, *others]]
    choices = [*single[: len(likely)], *pairs, *single[len(likely) :]]
    raise Ambiguous(f"{file}: {len(some)} columns could be the text", choices)


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
