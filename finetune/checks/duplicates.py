"""The same text twice, or nearly: with the same label, or with another one."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from finetune.checks.finding import MANY, Finding, Severity
from finetune.checks.minhash import near_pairs
from finetune.checks.split_data import Part

MOST = 200_000  # texts among which near duplicates are looked for


def repeated(parts: Sequence[Part]) -> Iterator[Finding]:
    """Rows with the text and the label of an earlier one, and texts with several labels."""
    for part in parts:
        golds = np.fromiter(map(hash, part.golds), np.int64, len(part.golds))
        rows, same_text, same_gold = _in_order(part.keys, golds, part.keys != 0)
        again = np.sort(rows[1:][same_text & same_gold])
        if len(again):
            what, remedy = "rows with the text and the label of an earlier row", "Drop them, as `--fix` does"
            yield part.found(_by_share(part, len(again)), "duplicate", what, f"{remedy}; else they count twice", again)
        labelled = np.fromiter((gold is not None for gold in part.golds), bool, len(golds))
        rows, same_text, same_gold = _in_order(part.keys, golds, (part.keys != 0) & labelled)
        texts = np.unique(part.keys[rows[1:][same_text & ~same_gold]])
        if len(texts):
            what = f"rows whose text another row has with another label; different texts: {len(texts):,}"
            differing = np.flatnonzero(labelled & np.isin(part.keys, texts))
            severity = _by_share(part, len(differing))
            yield part.found(severity, "contradiction", what, "Decide for one label, or leave both out", differing)


def _by_share(part: Part, rows: int) -> Severity:
    return "warning" if rows > MANY * part.size else "note"


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
        remedy = "See whether they should count twice; a drawn dev split may get some, group=COLUMN keeps them together"
        return second.found("note", "near-duplicate", what, remedy, rows)
    what = f"{second.thing} nearly the same as in {first.file}{said}; that of the first row is like its row {there}"
    remedy = f"Take them out of one file; the scores of {second.split} may be too high with them"
    return second.found("warning", "near-leak", what, remedy, rows)
