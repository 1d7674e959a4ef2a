"""Near duplicates among many texts: MinHash over character n-grams, with LSH bands to find candidates.

Broder 1997 for the resemblance (Jaccard similarity of two texts' n-grams), Li, Owen and Zhang 2012 for one-permutation
hashing (one hash an n-gram instead of one a bin), Shrivastava and Li 2014 for filling empty bins.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from finetune.data.characters import codes_of, same_text, text_slices

LEAST_SIMILARITY = 0.8  # Jaccard similarity of near duplicates
RUN = 5  # characters of an n-gram
BANDS, IN_BAND = 20, 6  # texts of similarity 0.8 share a band with probability 0.998, of 0.3 with 0.015
BINS = BANDS * IN_BAND
PAIRS_AT_ONCE = 5_000  # pairs that are compared at a time
EMPTY = np.uint32(0xFFFFFFFF)
PRIME, ODD = np.uint64(0x100000001B3), np.uint64(0x9E3779B97F4A7C15)


def near_pairs(texts: Sequence[str]) -> list[tuple[int, int]]:
    """(index of a text, index of the first earlier one nearly equal to it), for each text that has one; texts differ.

    Case and spaces are ignored.
    """
    plain = [same_text(text) for text in texts]
    if len(plain) < 2:
        return []
    signatures = np.concatenate([_signatures(plain[some]) for some in text_slices([len(text) for text in plain])])
    found: dict[int, int] = {}
    for later, earlier in _candidates(signatures):
        if later not in found and likeness(plain[later], plain[earlier]) >= LEAST_SIMILARITY:
            found[later] = earlier
    return list(found.items())


def likeness(one: str, other: str) -> float:
    """Jaccard similarity of two texts' n-grams, 0 to 1."""
    runs, others = _runs(one), _runs(other)
    return len(runs & others) / max(1, len(runs | others))


def _runs(text: str) -> set[str]:
    padded = text + "\0" * (RUN - 1)
    return {padded[start : start + RUN] for start in range(len(text))}


def _signatures(texts: Sequence[str]) -> NDArray[np.uint32]:
    """The smallest hash in each bin, `(texts, BINS)`."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    gap = RUN - 1
    codes = codes_of(("\0" * gap).join(texts) + "\0" * gap).astype(np.uint64)
    hashes = np.zeros(len(codes) - gap, np.uint64)
    for place in range(RUN):
        hashes = hashes * PRIME + codes[place : place + len(hashes)]
    starts = np.cumsum(lengths + gap) - (lengths + gap)
    row = np.repeat(np.arange(len(texts)), lengths)
    hashes = hashes[np.arange(len(row)) + (starts - (np.cumsum(lengths) - lengths))[row]]
    hashes = (hashes ^ (hashes >> np.uint64(31))) * ODD
    hashes ^= hashes >> np.uint64(29)
    bins = ((hashes >> np.uint64(32)) * np.uint64(BINS) >> np.uint64(32)).astype(np.int64)
    least = np.full(len(texts) * BINS, EMPTY)
    np.minimum.at(least, row * BINS + bins, hashes.astype(np.uint32))
    return _filled(least.reshape(-1, BINS))


def _filled(least: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Each empty bin takes the value of the next filled one, offset by the distance to it."""
    last = 2 * BINS
    twice = np.concatenate([least, least], axis=1)
    places = np.where(twice != EMPTY, np.arange(last), last - 1)
    following = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1][:, :BINS]
    away = (following - np.arange(BINS)).astype(np.uint32)
    filled: NDArray[np.uint32] = np.take_along_axis(twice, following, axis=1) + away * np.uint32(ODD & EMPTY)
    return filled


def _candidates(signatures: NDArray[np.uint32]) -> list[tuple[int, int]]:
    """(later, earlier) pairs that share a band and most bins, each text with the first of its band."""
    count = len(signatures)
    met = []
    for band in range(BANDS):
        keys = np.zeros(count, np.uint64)
        for column in signatures[:, band * IN_BAND : (band + 1) * IN_BAND].T:
            keys = (keys ^ column) * ODD
            keys ^= keys >> np.uint64(32)
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        later = np.flatnonzero(first[group] != np.arange(count))
        met.append(later * count + first[group][later])
    later, earlier = np.divmod(np.unique(np.concatenate(met)), count)
    agreeing = np.empty(len(later), np.float32)
    for start in range(0, len(later), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        agreeing[part] = (signatures[later[part]] == signatures[earlier[part]]).mean(axis=1)
    likely = agreeing >= LEAST_SIMILARITY - 0.15
    return list(zip(later[likely].tolist(), earlier[likely].tolist(), strict=True))
