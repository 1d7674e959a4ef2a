"""Ranks the columns that could be the label: by name, by share of filled cells, and by content.

Where two are equally likely, the user is asked (`Ambiguous`).
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from finetune.data.column_types import ColumnFacts, marks
from finetune.data.values import as_text, is_missing
from finetune.errors import UserError
from finetune.task_types.column_names import asks, is_about, is_id_name, is_split_name, label_tier, text_tier

SHELL = re.compile(r"[\s;&|<>()$`\"'*?#!\[\]{}~\\]")
FULL_SHARE = 0.9  # share of filled cells
HALF_SHARE = 0.5
LABEL_WORDS = 6  # words per cell from which a column is hardly a label
VALUES_SHOWN = 4
MOST_STARS = 10  # values of a rating
UNNAMED, NUMBERS, UNLIKELY = 3, 4, 5  # levels of candidates without a label's name; the last are offered, never taken
COLUMNS_OFFERED = 12  # columns in a question
TARGETS = ("target", "targets")  # names of a label, or of what a stance or an opinion is about


class Ambiguous(UserError):
    """Several columns fit: `choices` are the settings, each with its meaning."""

    def __init__(self, what: str, choices: Sequence[tuple[str, str]]) -> None:
        self.choices = tuple((setting, " ".join(meaning.split())) for setting, meaning in choices)
        listed = "; ".join(
            f"{copied(setting)} ({meaning})" if meaning else copied(setting) for setting, meaning in self.choices
        )
        super().__init__(what, f"Choose one: {listed}")

    def __reduce__(self) -> tuple[Any, ...]:
        """What `__init__` takes, so that it comes whole from another process."""
        return type(self), (self.what, self.choices)


def copied(setting: str) -> str:
    """Settings quoted for a shell, where they contain a space or another special character."""
    return " ".join(shlex.quote(one) if SHELL.search(one) else one for one in single_settings(setting))


def single_settings(setting: str) -> list[str]:
    """Splits `shape=choice text=a b,c label=d` into three settings: a column's name may contain blanks."""
    return re.split(r" (?=(?:text|label)=)", setting)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One column, or several of 0 and 1, that could be the label; the lowest `level` is the likeliest."""

    columns: tuple[str, ...]
    level: int
    share: float
    distinct: int
    what: str

    @property
    def setting(self) -> str:
        """The setting that chooses it."""
        return f"label={','.join(self.columns)}"


def label_candidates(
    facts: Mapping[str, ColumnFacts], columns: Mapping[str, Sequence[Any]], taken: Sequence[str]
) -> list[Candidate]:
    """All columns that could hold the label, the likeliest first."""
    free = {name: fact for name, fact in facts.items() if name not in taken and _may_be_label(fact)}
    found = []
    beside = _between_flags(facts, list(free), taken)
    free = {name: fact for name, fact in facts.items() if name in free or name in beside}
    flags = [name for name, fact in free.items() if fact.marks and not is_split_name(name)]
    for name, fact in free.items():
        level = _level(fact)
        if name not in flags or level <= 1:
            found.append(_candidate((name,), level, fact, columns[name]))
    for style in map("/".join, marks()):
        group = tuple(name for name in flags if free[name].marks == style)
        found += _candidates_of_flags(group, list(facts), free, columns)
    found = [one for one in found if one.distinct > 1] or found  # one value only as a last resort
    others = [name for name, fact in facts.items() if name not in (*taken, *free) and _might_be_label(fact)]
    found += [_candidate((name,), UNLIKELY, facts[name], columns[name]) for name in others]
    places = {name: place for place, name in enumerate(facts)}
    return sorted(
        found,
        key=lambda one: (one.level, one.share < FULL_SHARE, -len(one.columns), one.distinct, places[one.columns[0]]),
    )


def best_label(
    candidates: Sequence[Candidate], columns: Mapping[str, Sequence[Any]], *, file: str, header: bool = True
) -> tuple[Candidate | None, list[Candidate]]:
    """The likeliest label column and the other candidates; None without a likely one.

    Raises Ambiguous, with all candidates, where several are as likely, or several exist in a file without a header.
    """
    likely = [one for one in candidates if one.level < UNLIKELY]
    if not likely:
        return None, []
    unnamed = likely[0].level >= UNNAMED and not header  # a number and a class with gaps are as likely
    same = [one for one in likely if one.level == likely[0].level or unnamed]
    if not unnamed and (full := [one for one in same if one.share >= FULL_SHARE]):
        same = full
    elif all(one.share < HALF_SHARE for one in same):  # a nearly empty `label` next to full columns
        same += [one for one in likely if one not in same and one.share >= FULL_SHARE and one.level < NUMBERS]
    if len(same) == 1 and same[0].level == 0 and _is_weak(same[0]):  # a `target` may be what a `stance` is about
        same += [one for one in likely if one.level == 2 and one.share >= FULL_SHARE and len(one.columns) == 1]
    same = _distinct(same, columns)
    if len(same) > 1:
        count = {2: "two", 3: "three"}.get(len(same), str(len(same)))
        listed = [*same, *(one for one in candidates if one not in same)][:COLUMNS_OFFERED]
        what = f"{file}: {count} columns could be the label"
        raise Ambiguous(what, [(one.setting, one.what) for one in listed])
    return same[0], [one for one in likely if one not in same]


def _is_weak(one: Candidate) -> bool:
    return one.columns[0].casefold() in TARGETS


def described(fact: ColumnFacts, cells: Sequence[Any]) -> str:
    """Summarises a column: `3 values: bad, fair, good; 20 % empty`."""
    some: dict[str, None] = {}
    for cell in cells[:20_000]:
        if not is_missing(cell):
            some[as_text(cell).strip()[:30]] = None
    if fact.kind == "list":
        what = "lists"
    elif fact.kind == "number" and (not fact.whole or fact.distinct > 20):
        what = f"{fact.distinct:,} different numbers"
    else:
        more = ", ..." if len(some) > VALUES_SHOWN else ""
        what = f"{fact.distinct:,} values: {', '.join(list(some)[:VALUES_SHOWN])}{more}"
    return what + (f"; {100 * (1 - fact.share):.0f} % empty" if fact.share < 0.995 else "")


def _candidates_of_flags(
    group: Sequence[str], names: Sequence[str], free: Mapping[str, ColumnFacts], columns: Mapping[str, Sequence[Any]]
) -> list[Candidate]:
    """Binary columns together, as parts of them that may be the label instead, and each alone."""
    alone = [name for name in group if _level(free[name]) > 1]
    if len(group) < 2:
        return [_candidate((name,), _level(free[name]), free[name], columns[name]) for name in alone]
    together = _contiguous(group, names)
    named = len(group) > 2 or any(label_tier(name) is not None for name in group)
    level = 2 if together and named else UNNAMED
    parts = _parts_of_flags(group) if together else _runs(group, names)
    found = []
    for part in (tuple(group), *(part for part in parts if len(part) > 1)):
        what = f"{len(part)} columns of {' and '.join(free[part[0]].marks.split('/'))}"
        share = min(free[name].share for name in part)
        found.append(Candidate(columns=part, level=level, share=share, distinct=len(part), what=what))
    for name in alone:
        of_one = level if (name,) in parts else UNLIKELY if together else UNNAMED
        found.append(_candidate((name,), of_one, free[name], columns[name]))
    return found


def _between_flags(facts: Mapping[str, ColumnFacts], free: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Columns of 0 and 1 next to those that may be labels, and called like no label, such as `region`."""
    names, found = list(facts), list[str]()
    for run in (list(some) for _, some in groupby(names, key=lambda name: facts[name].marks)):
        if facts[run[0]].marks and sum(name in free for name in run) > 1:
            found += [name for name in run if name not in (*free, *taken) and not is_split_name(name)]
    return found


def _parts_of_flags(group: Sequence[str]) -> list[tuple[str, ...]]:
    """The two parts of adjacent binary columns that are not of one kind: some names say is or has, others do not."""
    asking = tuple(name for name in group if asks(name))
    return [asking, tuple(name for name in group if name not in asking)] if 0 < len(asking) < len(group) else []


def _runs(group: Sequence[str], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The adjacent ones among scattered columns."""
    runs: list[tuple[str, ...]] = []
    for name in group:
        adjacent = bool(runs) and names.index(name) == names.index(runs[-1][-1]) + 1
        runs[-1:] = [(*runs[-1], name)] if adjacent else [*runs[-1:], (name,)]
    return runs


def _candidate(names: tuple[str, ...], level: int, fact: ColumnFacts, cells: Sequence[Any]) -> Candidate:
    what = described(fact, cells)
    return Candidate(columns=names, level=level, share=fact.share, distinct=fact.distinct, what=what)


def _level(fact: ColumnFacts) -> int:
    """0 and 1 for names with `label`, 2 for `sentiment` and the like, 3 for other categories, 4 for other numbers."""
    tier = label_tier(fact.name)
    if tier is not None and tier <= 3:
        return min(tier, 2)
    number = fact.kind == "number" and (not fact.whole or fact.distinct > 20)
    return NUMBERS if number else UNNAMED


def _may_be_label(fact: ColumnFacts) -> bool:
    tier = label_tier(fact.name)
    if (
        fact.kind in ("empty", "object", "id")
        or fact.split
        or is_about(fact.name)
        or (fact.distinct < 2 and tier is None)
    ):
        return False
    if tier is None and (is_id_name(fact.name) or fact.counter or text_tier(fact.name) in (0, 1)):
        return False
    if is_id_name(fact.name) and (tier is None or fact.unique):
        return False
    if fact.kind == "text":
        once = fact.unique and fact.filled > 20 and not fact.combined
        return tier is not None and fact.words < LABEL_WORDS and not once
    return fact.share > 0.02


def _might_be_label(fact: ColumnFacts) -> bool:
    """Whether a column whose name or values speak against it may be the label if the user names it."""
    if fact.kind not in ("number", "category", "text", "list") or fact.distinct < 2 or fact.counter:
        return False
    repeated = fact.kind in ("number", "list") or fact.distinct <= HALF_SHARE * fact.filled
    return fact.words < LABEL_WORDS and not fact.unique and repeated


def _contiguous(group: Sequence[str], names: Sequence[str]) -> bool:
    """Whether columns are adjacent, as those of several labels are; other flags are scattered."""
    places = [names.index(name) for name in group]
    return max(places) - min(places) < len(places)


def _distinct(same: Sequence[Candidate], columns: Mapping[str, Sequence[Any]]) -> list[Candidate]:
    """The candidates without equivalent ones (0 for bad): words are preferred to numbers."""
    order = sorted(same, key=lambda one: _are_numbers(columns[one.columns[0]]))
    kept: list[Candidate] = []
    for one in order:
        if not any(_equivalent(one, other, columns) for other in kept):
            kept.append(one)
    return [one for one in same if one in kept and not any(_coarser(other, one, columns) for other in kept)]


def _coarser(one: Candidate, other: Candidate, columns: Mapping[str, Sequence[Any]]) -> bool:
    """Whether words say the same as numbers with fewer values: `good` for 4 and 5 stars."""
    if len(one.columns) > 1 or len(other.columns) > 1 or not 1 < one.distinct < other.distinct:
        return False
    words, numbers = columns[one.columns[0]], columns[other.columns[0]]
    if _are_numbers(words) or not _are_numbers(numbers) or other.distinct > MOST_STARS:
        return False
    pairs = {(as_text(a), as_text(b)) for a, b in zip(words, numbers, strict=True) if not is_missing(a)}
    return len(pairs) == len({number for _, number in pairs})


def _are_numbers(cells: Sequence[Any]) -> bool:
    return all(is_missing(cell) or as_text(cell).lstrip("-").replace(".", "").isdigit() for cell in cells[:200])


def _equivalent(one: Candidate, other: Candidate, columns: Mapping[str, Sequence[Any]]) -> bool:
    """Whether the values of the two columns map one to one."""
    if len(one.columns) > 1 or len(other.columns) > 1 or one.distinct != other.distinct:
        return False
    pairs = {
        (as_text(a), as_text(b))
        for a, b in zip(columns[one.columns[0]], columns[other.columns[0]], strict=True)
        if not is_missing(a) and not is_missing(b)
    }
    return len(pairs) == one.distinct and len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
