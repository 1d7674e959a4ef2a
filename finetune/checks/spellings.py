"""Spelling variants of a label: case, spaces, and rare ones that look like typos."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from finetune.data.characters import cleaned

TYPO_LENGTH, TYPO_SHARE = 4, 0.1  # letters, and rows as a share of those of the label that was meant


def unified(counts: Mapping[str, int]) -> dict[str, str]:
    """Each spelling that differs from a more frequent one only in case or spaces, with that one."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in counts:
        groups[" ".join(cleaned(name).casefold().split())].append(name)
    best = {key: max(names, key=lambda name: (counts[name], name)) for key, names in groups.items()}
    return {name: best[key] for key, names in groups.items() for name in names if name != best[key]}


def misspelled(counts: Mapping[str, int]) -> dict[str, str]:
    """Each rare label that is one edit away from one at least ten times as frequent, with that one; not numbers."""
    near: defaultdict[str, set[str]] = defaultdict(set)
    for name in counts:
        if len(name) >= TYPO_LENGTH:
            for key in (name, *(name[:place] + name[place + 1 :] for place in range(len(name)))):
                near[key].add(name)
    found: dict[str, str] = {}
    for names in near.values():
        for pair in combinations(sorted(names), 2):
            rare, frequent = sorted(pair, key=lambda name: counts[name])
            if counts[rare] <= TYPO_SHARE * counts[frequent] and _one_edit(rare, frequent):
                found[rare] = max(frequent, found.get(rare, frequent), key=lambda name: counts[name])
    return found


def _one_edit(one: str, other: str) -> bool:
    """Whether a letter was changed, added, left out, or exchanged with the next; digits and mere case do not count."""
    if one.casefold() == other.casefold():
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    tails = [one[start:], other[start:]]
    if any(tail[:1].isdigit() for tail in tails):
        return False
    first, second = tails
    exchanged = first[:2] == second[1::-1] and first[2:] == second[2:]
    return exchanged or first[1:] == second[1:] or first[1:] == second or first == second[1:]
