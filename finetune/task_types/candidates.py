"""Ranks the columns that could be the label: by name, by share of filled cells, and by content.

Where two are equally likely, the user is asked (`Ambiguous`).
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from finetune.data.column_types import ColumnFacts
from finetune.data.formats.delimited import dialect_of
from finetune.data.values import as_text
from finetune.errors import UserError
from finetune.task_types.column_names import asks, is_about, is_id_name, is_split_name, label_tier, text_tier
from finetune.task_types.own_type import Evidence

SHELL = re.compile(r"[\s;&|<>()$`\"'*?#!\[\]{}~\\]")
FULL_SHARE = 0.9  # share of filled cells
HALF_SHARE = 0.5
LABEL_WORDS = 6  # words per cell from which a column is hardly a label
VALUES_SHOWN = 4
CLASS_NUMBERS = 20  # most whole numbers that are shown as classes
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
    return " ".join(shlex.quote(part) if SHELL.search(part) else part for part in single_settings(setting))


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


def label_candidates(evidence: Evidence, taken: Sequence[str]) -> list[Candidate]:
    """All columns that could hold the label, the likeliest first."""
    facts = evidence.facts
    order = list(facts)
    likely = [name for name in order if name not in taken and _may_be_label(facts[name])]
    for mark, group in groupby(order, key=lambda name: facts[name].marks):
        run = list(group)
        if mark and sum(name in likely for name in run) > 1:  # and those between them, such as `region`
            likely += [name for name in run if name not in (*likely, *taken) and not is_split_name(name)]
    levels = {name: _level(facts[name]) for name in likely}
    candidates = []
    flags = [name for name in order if name in likely and not is_split_name(name)]
    for marks in {facts[name].marks for name in flags} - {""}:
        for part, level in _parts_of_flags([name for name in flags if facts[name].marks == marks], facts):
            if len(part) > 1:
                what = f"{len(part)} columns of {marks.replace('/', ' and ')}"
                share = min(facts[name].share for name in part)
                candidates.append(Candidate(columns=part, level=level, share=share, distinct=len(part), what=what))
            elif levels[part[0]] > 1:
                levels[part[0]] = level
    single = [name for name in levels if facts[name].distinct > 1]
    levels = {name: levels[name] for name in single or levels}  # one value as a last resort
    levels |= {name: UNLIKELY for name in order if name not in (*taken, *likely) and _might_be_label(facts[name])}
    for name, level in levels.items():
        fact, what = facts[name], described(evidence, name)
        candidates.append(Candidate(columns=(name,), level=level, share=fact.share, distinct=fact.distinct, what=what))
    places = {name: place for place, name in enumerate(order)}
    return sorted(
        candidates,
        key=lambda candidate: (
            candidate.level,
            candidate.share < FULL_SHARE,
            -len(candidate.columns),
            candidate.distinct,
            places[candidate.columns[0]],
        ),
    )


def best_label(candidates: Sequence[Candidate], evidence: Evidence) -> tuple[Candidate | None, list[Candidate]]:
    """The likeliest label column and the other candidates; None without a likely one.

    Raises Ambiguous, with all candidates, where several are as likely, or several exist in a file without a header.
    """
    likely = [candidate for candidate in candidates if candidate.level < UNLIKELY]
    if not likely:
        return None, []
    header = dialect_of(evidence.table.form).header
    unnamed = likely[0].level >= UNNAMED and not header  # a number and a class with gaps are as likely
    same = [candidate for candidate in likely if candidate.level == likely[0].level or unnamed]
    if not unnamed and (full := [candidate for candidate in same if candidate.share >= FULL_SHARE]):
        same = full
    elif all(candidate.share < HALF_SHARE for candidate in same):  # a nearly empty `label` next to full columns
        same += [
            candidate
            for candidate in likely
            if candidate not in same and candidate.share >= FULL_SHARE and candidate.level < NUMBERS
        ]
    if len(same) == 1 and same[0].columns[0].casefold() in TARGETS:  # may be what a `stance` is about
        same += [
            candidate
            for candidate in likely
            if candidate.level == 2 and candidate.share >= FULL_SHARE and len(candidate.columns) == 1
        ]
    same = _different(same, evidence)
    if len(same) > 1:
        count = {2: "two", 3: "three"}.get(len(same), str(len(same)))
        listed = [*same, *(candidate for candidate in candidates if candidate not in same)][:COLUMNS_OFFERED]
        what = f"{evidence.file}: {count} columns could be the label"
        raise Ambiguous(what, [(candidate.setting, candidate.what) for candidate in listed])
    return same[0], [candidate for candidate in likely if candidate not in same]


def described(evidence: Evidence, name: str) -> str:
    """Summarises a column: `3 values: bad, fair, good; 20 % empty`."""
    fact = evidence.facts[name]
    if fact.kind == "list":
        what = "lists"
    elif _is_amount(fact):
        what = f"{fact.distinct:,} different numbers"
    else:
        values = list(dict.fromkeys(as_text(cell).strip()[:30] for cell in evidence.filled(name, 20_000)))
        more = ", ..." if len(values) > VALUES_SHOWN else ""
        what = f"{fact.distinct:,} values: {', '.join(values[:VALUES_SHOWN])}{more}"
    return what + (f"; {100 * (1 - fact.share):.0f} % empty" if fact.share < 0.995 else "")


def _parts_of_flags(group: Sequence[str], facts: Mapping[str, ColumnFacts]) -> Iterator[tuple[tuple[str, ...], int]]:
    """(columns, level) for binary columns together, for adjacent ones of them that may be the label instead (where all
    are adjacent, those whose names say is or has, and the others), and for each alone; none where there is only one.
    """
    if len(group) < 2:
        return
    places = {name: place for place, name in enumerate(facts)}
    together = places[group[-1]] - places[group[0]] < len(group)  # flags of several labels are adjacent
    named = len(group) > 2 or any(label_tier(name) is not None for name in group)
    level = 2 if together and named else UNNAMED
    runs: list[tuple[str, ...]] = [(group[0],)]
    for last, name in pairwise(group):
        joined = places[name] == places[last] + 1 and (not together or asks(name) == asks(last))
        runs[-1:] = [(*runs[-1], name)] if joined else [runs[-1], (name,)]
    yield from ((part, level) for part in dict.fromkeys([tuple(group), *runs]))
    yield from (((name,), UNLIKELY if together else UNNAMED) for name in group if (name,) not in runs)


def _is_amount(fact: ColumnFacts) -> bool:
    return fact.kind == "number" and (not fact.whole or fact.distinct > CLASS_NUMBERS)


def _level(fact: ColumnFacts) -> int:
    """0 and 1 for names with `label`, 2 for `sentiment` and the like, 3 for other categories, 4 for other numbers."""
    tier = label_tier(fact.name)
    if tier is not None and tier <= 3:
        return min(tier, 2)
    return NUMBERS if _is_amount(fact) else UNNAMED


def _may_be_label(fact: ColumnFacts) -> bool:
    tier, is_id = label_tier(fact.name), is_id_name(fact.name)
    if fact.kind in ("empty", "object", "id") or fact.split or is_about(fact.name) or (is_id and fact.unique):
        return False
    if tier is None and (fact.distinct < 2 or is_id or fact.counter or text_tier(fact.name) in (0, 1)):
        return False
    if fact.kind == "text":
        once = fact.unique and fact.filled > 20 and not fact.combined
        return tier is not None and fact.words < LABEL_WORDS and not once
    return fact.share > 0.02


def _might_be_label(fact: ColumnFacts) -> bool:
    """Whether a column whose name or values speak against it may be the label if the user names it."""
    if fact.kind not in ("number", "category", "text", "list") or fact.distinct < 2 or fact.counter or fact.unique:
        return False
    repeated = fact.kind in ("number", "list") or fact.distinct <= HALF_SHARE * fact.filled
    return fact.words < LABEL_WORDS and repeated


def _different(same: Sequence[Candidate], evidence: Evidence) -> list[Candidate]:
    """The candidates that say more than another one does; words are preferred to numbers."""
    different: list[Candidate] = []
    for candidate in sorted(same, key=lambda candidate: evidence.facts[candidate.columns[0]].kind == "number"):
        if not any(_repeats(candidate, other, evidence) for other in different):
            different.append(candidate)
    return [candidate for candidate in same if candidate in different]


def _repeats(candidate: Candidate, other: Candidate, evidence: Evidence) -> bool:
    """Whether another column says the same in as many values (bad for 0), or a word for numbers (good for 4 and 5)."""
    if len(candidate.columns) + len(other.columns) > 2:
        return False
    first, second = candidate.columns[0], other.columns[0]
    pairs = {(as_text(a), as_text(b)) for a, b in evidence.rows((first, second))}
    if len(pairs) != len({a for a, _ in pairs}):
        return False
    if candidate.distinct == other.distinct:
        return len({b for _, b in pairs}) == len(pairs) == candidate.distinct
    number, numbers = (evidence.facts[name].kind == "number" for name in (first, second))
    return number and not numbers and 1 < other.distinct < candidate.distinct <= MOST_STARS
