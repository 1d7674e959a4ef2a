"""Duplicates, and equal texts with different labels."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from finetune.checks.check import Check, across
from finetune.checks.finding import MANY_OF_ROWS, FileFinding
from finetune.checks.split_data import SplitFile
from finetune.data.issues import Issue

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


CHECKS = (Check(find=across(repeated), issues=(DUPLICATE, CONTRADICTION)),)
