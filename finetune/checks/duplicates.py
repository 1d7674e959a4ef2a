"""Duplicates, near duplicates, and equal texts with different labels."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from finetune.checks.check import Check, across
from finetune.checks.finding import MANY_OF_ROWS, FileFinding
from finetune.checks.minhash import near_pairs
from finetune.checks.split_data import SplitFile
from finetune.data.issues import Issue

MOST_TEXTS = 200_000  # texts that are searched for near duplicates; of more, a sample
DUPLICATE = Issue(
    code="duplicate",
    severity="note",
    worst="warning",
    meaning="rows with the text and the label of an earlier row",
    remedy="Drop them, as `fix` does; otherwise they count twice",
)
CONTRADICTION = Issue(
    code="contradiction",
    severity="note",
    worst="warning",
    meaning="rows with the text of another row but a different label",
    remedy="Choose one label, or drop these rows",
)
NEAR_DUPLICATE = Issue(
    code="near-duplicate",
    severity="note",
    meaning="texts nearly equal to that of an earlier row",
    remedy="Check whether both should stay; a sampled dev split may get one of them (group=COLUMN keeps them together)",
)
NEAR_LEAK = Issue(
    code="near-leak",
    severity="warning",
    meaning="nearly equal texts in two splits",
    remedy="Remove them from one file; they may inflate the scores of {split}",
)


def repeated(parts: Sequence[SplitFile]) -> Iterator[FileFinding]:
    """Rows with the text and label of an earlier one, and texts with several labels."""
    for part in parts:
        labels = np.fromiter(map(hash, part.golds), np.int64, len(part.golds))
        rows, same_text, same_label = _in_order(part.keys, labels, part.keys != 0)
        again = np.sort(rows[1:][same_text & same_label])
        if len(again):
            yield part.found(DUPLICATE, again, worst=len(again) > MANY_OF_ROWS * part.size)
        labelled = np.fromiter((label is not None for label in part.golds), bool, len(labels))
        rows, same_text, same_label = _in_order(part.keys, labels, (part.keys != 0) & labelled)
        texts = np.unique(part.keys[rows[1:][same_text & ~same_label]])
        if len(texts):
            what = f"{CONTRADICTION.meaning}; different texts: {len(texts):,}"
            differing = np.flatnonzero(labelled & np.isin(part.keys, texts))
            yield part.found(CONTRADICTION, differing, what=what, worst=len(differing) > MANY_OF_ROWS * part.size)


def _in_order(
    keys: NDArray[np.int64], labels: NDArray[np.int64], wanted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """The wanted rows by text and label; for each but the first, whether text and label equal those of the previous."""
    rows = np.flatnonzero(wanted)
    rows = rows[np.lexsort((labels[rows], keys[rows]))]
    return rows, keys[rows][1:] == keys[rows][:-1], labels[rows][1:] == labels[rows][:-1]


def nearly_repeated(parts: Sequence[SplitFile]) -> Iterator[FileFinding]:
    """Texts nearly equal to an earlier one, of the same split or of another."""
    keys = np.concatenate([part.unit_keys for part in parts])
    firsts = np.sort(np.unique(keys, return_index=True)[1])
    firsts = firsts[keys[firsts] != 0]
    sampled = ""
    if len(firsts) > MOST_TEXTS:
        sampled = f", in a sample of {MOST_TEXTS:,} of the {len(firsts):,} different texts"
        firsts = np.sort(np.random.default_rng(0).choice(firsts, MOST_TEXTS, replace=False))
    starts = np.cumsum([0, *(len(part.texts) for part in parts)])
    numbers = np.searchsorted(starts, firsts, side="right") - 1
    owners = list(zip(numbers.tolist(), (firsts - starts[numbers]).tolist(), strict=True))
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for later, earlier in near_pairs([parts[number].units[row] for number, row in owners]):
        (second, row), (first, like) = owners[later], owners[earlier]
        found.setdefault((first, second), []).append((row, like))
    for (first, second), pairs in sorted(found.items()):
        yield _near(parts[first], parts[second], sorted(pairs), sampled, draws_dev=len(parts) == 1)


def _near(
    first: SplitFile, second: SplitFile, pairs: list[tuple[int, int]], sampled: str, *, draws_dev: bool
) -> FileFinding:
    rows, there = [row for row, _ in pairs], first.table.rows[pairs[0][1]]
    if first is second:
        what = f"{second.thing} nearly equal to an earlier one{sampled}; that of the first row resembles row {there}"
        return second.found(NEAR_DUPLICATE, rows, what=what, remedy=_remedy(second, draws_dev=draws_dev))
    what = (
        f"{second.thing} nearly equal to some in {first.file}{sampled}; that of the first row resembles its row {there}"
    )
    return second.found(NEAR_LEAK, rows, what=what, remedy=NEAR_LEAK.remedy.format(split=second.split))


def _remedy(part: SplitFile, *, draws_dev: bool) -> str:
    """That of the issue where dev is drawn from the file; else what a column of splits, or the user, decides."""
    if part.by_column:
        return f"Check whether both should stay; in '{part.by_column}' both should be of one split"
    return NEAR_DUPLICATE.remedy if draws_dev else "Check whether both should stay"


CHECKS = (
    Check(find=across(repeated), issues=(DUPLICATE, CONTRADICTION)),
    Check(find=across(nearly_repeated), issues=(NEAR_DUPLICATE, NEAR_LEAK)),
)
