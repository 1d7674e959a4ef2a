"""The same text twice, or nearly: with the same label, or with another one."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from finetune.data.findings import Finding
from finetune.data.minhash import near_pairs
from finetune.data.part import Part

MOST = 200_000  # texts among which near duplicates are looked for


def repeated(parts: Sequence[Part]) -> Iterator[Finding]:
    """Rows with the text and the label of an earlier one, and texts with several labels."""
    for part in parts:
        keys = part.keys
        golds = np.fromiter(map(hash, part.golds), np.int64, len(keys))
        some = np.flatnonzero(keys)
        pairs = np.stack([keys[some], golds[some]], axis=1)
        order = np.lexsort((np.arange(len(some)), pairs[:, 1], pairs[:, 0]))
        again = (pairs[order][1:] == pairs[order][:-1]).all(axis=1)
        if again.any():
            remedy = "Drop them, as `--fix` does; else they count twice"
            rows = np.sort(some[order[1:][again]])
            yield part.found("warning", "duplicate", "rows with the text and the label of an earlier row", remedy, rows)
        yield from _contradicting(part, some, pairs)


def _contradicting(part: Part, some: NDArray[np.int64], pairs: NDArray[np.int64]) -> Iterator[Finding]:
    given = np.array([part.golds[row] is not None for row in some], bool)
    different = np.unique(pairs[given], axis=0)[:, 0]
    several = np.unique(different[1:][different[1:] == different[:-1]])
    rows = some[given & np.isin(pairs[:, 0], several)]
    if len(rows):
        what = f"rows whose text another row has with another label; different texts: {len(several):,}"
        yield part.found("warning", "contradiction", what, "Decide for one label, or leave both out", rows)


def nearly_repeated(parts: Sequence[Part]) -> Iterator[Finding]:
    """Texts that are nearly those of an earlier row, of the same file or of another split's."""
    places, texts = _distinct(parts)
    said = ""
    if len(texts) > MOST:
        said = f", in a sample of {MOST:,} of the {len(texts):,} different texts"
        kept = np.sort(np.random.default_rng(0).choice(len(texts), MOST, replace=False)).tolist()
        places, texts = [places[i] for i in kept], [texts[i] for i in kept]
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for later, earlier in near_pairs(texts):
        (second, row), (first, like) = places[later], places[earlier]
        found.setdefault((first, second), []).append((row, like))
    for (first, second), pairs in sorted(found.items()):
        yield _near(parts[first], parts[second], sorted(pairs), said)


def _near(first: Part, second: Part, pairs: list[tuple[int, int]], said: str) -> Finding:
    rows, there = [row for row, _ in pairs], first.table.rows[pairs[0][1]]
    if first is second:
        what = f"{thing(second)} nearly the same as in an earlier row{said}; that of the first row is like row {there}"
        remedy = "See whether they should count twice; a drawn dev split may get some, group=COLUMN keeps them together"
        return second.found("note", "near-duplicate", what, remedy, rows)
    what = f"{thing(second)} nearly the same as in {first.file}{said}; that of the first row is like its row {there}"
    remedy = f"Take them out of one file; the scores of {second.split} may be too high with them"
    return second.found("warning", "near-leak", what, remedy, rows)


def thing(part: Part) -> str:
    """What must not stand in two splits, in a word."""
    return "contexts" if part.layout.shape == "span" else "texts"


def _distinct(parts: Sequence[Part]) -> tuple[list[tuple[int, int]], list[str]]:
    """(number of the part, row) of the first of each text, with the texts."""
    seen: set[int] = set()
    places: list[tuple[int, int]] = []
    texts: list[str] = []
    for number, part in enumerate(parts):
        for row, key in enumerate(part.unit_keys.tolist()):
            if key and key not in seen:
                seen.add(key)
                places.append((number, row))
                texts.append(part.units[row])
    return places, texts
