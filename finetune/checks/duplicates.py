"""The same text twice, or nearly: with the same label, or with another one."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from finetune.checks.check import Check, across
from finetune.checks.finding import MANY, Finding
from finetune.checks.minhash import near_pairs
from finetune.checks.split_data import Part
from finetune.data.issues import Issue

MOST = 200_000  # texts among which near duplicates are looked for
DUPLICATE = Issue(
    code="duplicate",
    severity="note",
    worst="warning",
    meaning="rows with the text and the label of an earlier row",
    remedy="Drop them, as `--fix` does; else they count twice",
)
CONTRADICTION = Issue(
    code="contradiction",
    severity="note",
    worst="warning",
    meaning="rows whose text another row has with another label",
    remedy="Decide for one label, or leave both out",
)
NEAR_DUPLICATE = Issue(
    code="near-duplicate",
    severity="note",
    meaning="texts nearly the same as in an earlier row",
    remedy="See whether they should count twice; a drawn dev split may get some, group=COLUMN keeps them together",
)
NEAR_LEAK = Issue(
    code="near-leak",
    severity="warning",
    meaning="nearly the same texts in the files of two splits",
    remedy="Take them out of one file; the scores of {split} may be too high with them",
)


def repeated(parts: Sequence[Part]) -> Iterator[Finding]:
    """Rows with the text and the label of an earlier one, and texts with several labels."""
    for part in parts:
        golds = np.fromiter(map(hash, part.golds), np.int64, len(part.golds))
        rows, same_text, same_gold = _in_order(part.keys, golds, part.keys != 0)
        again = np.sort(rows[1:][same_text & same_gold])
        if len(again):
            yield part.found(DUPLICATE, again, worst=len(again) > MANY * part.size)
        labelled = np.fromiter((gold is not None for gold in part.golds), bool, len(golds))
        rows, same_text, same_gold = _in_order(part.keys, golds, (part.keys != 0) & labelled)
        texts = np.unique(part.keys[rows[1:][same_text & ~same_gold]])
        if len(texts):
            what = f"{CONTRADICTION.meaning}; different texts: {len(texts):,}"
            differing = np.flatnonzero(labelled & np.isin(part.keys, texts))
            yield part.found(CONTRADICTION, differing, what=what, worst=len(differing) > MANY * part.size)


def _in_order(
    keys: NDArray[np.int64], golds: NDArray[np.int64], wanted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """The wanted rows by text and gold; of each but the first if its text, and its gold, is that of the one before."""
    rows = np.flatnonzero(wanted)
    rows = rows[np.lexsort((golds[rows], keys[rows]))]
    return rows, keys[rows][1:] == keys[rows][:-1], golds[rows][1:] == golds[rows][:-1]


def nearly_repeated(parts: Sequence[Part]) -> Iterator[Finding]:
    """Texts that are nearly those of an earlier row, of the same file or of another split's."""
    keys = np.concatenate([part.unit_keys for part in parts])
    firsts = np.sort(np.unique(keys, return_index=True)[1])
    firsts = firsts[keys[firsts] != 0]
    said = ""
    if len(firsts) > MOST:
        said = f", in a sample of {MOST:,} of the {len(firsts):,} different texts"
        firsts = np.sort(np.random.default_rng(0).choice(firsts, MOST, replace=False))
    starts = np.cumsum([0, *(len(part.texts) for part in parts)])
    numbers = np.searchsorted(starts, firsts, side="right") - 1
    places = list(zip(numbers.tolist(), (firsts - starts[numbers]).tolist(), strict=True))
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for later, earlier in near_pairs([parts[number].units[row] for number, row in places]):
        (second, row), (first, like) = places[later], places[earlier]
        found.setdefault((first, second), []).append((row, like))
    for (first, second), pairs in sorted(found.items()):
        yield _near(parts[first], parts[second], sorted(pairs), said)


def _near(first: Part, second: Part, pairs: list[tuple[int, int]], said: str) -> Finding:
    rows, there = [row for row, _ in pairs], first.table.rows[pairs[0][1]]
    if first is second:
        what = f"{second.thing} nearly the same as in an earlier row{said}; that of the first row is like row {there}"
        return second.found(NEAR_DUPLICATE, rows, what=what)
    what = f"{second.thing} nearly the same as in {first.file}{said}; that of the first row is like its row {there}"
    return second.found(NEAR_LEAK, rows, what=what, remedy=NEAR_LEAK.remedy.format(split=second.split))


CHECKS = (
    Check(find=across(repeated), issues=(DUPLICATE, CONTRADICTION)),
    Check(find=across(nearly_repeated), issues=(NEAR_DUPLICATE, NEAR_LEAK)),
)
