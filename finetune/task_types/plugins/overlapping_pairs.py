"""Scores of pairs of a first and a last word from the logits of single words, for which no torch is needed."""

from typing import Any

import numpy as np

KEYS = 64  # numbers in the vector of a word as a start, and in that as an end
IS_WORD = -1  # in a feature's label the word's number, in a row that is about a word instead of a span


def angles(words: int) -> np.ndarray:
    """The angles of rotary positions `(words, KEYS / 2)` (Su et al. 2021, RoFormer, equation 15)."""
    return np.arange(words)[:, None] * 10_000.0 ** (-np.arange(0, KEYS, 2) / KEYS)


def rotated(vectors: Any, turns: Any, of: Any) -> Any:
    """Vectors `(..., words, KEYS)`, each rotated by the position of its word; `of` is numpy, or torch."""
    first, second = vectors[..., : KEYS // 2], vectors[..., KEYS // 2 :]
    sin, cos = of.sin(turns), of.cos(turns)
    return of.concatenate([first * cos - second * sin, first * sin + second * cos], -1)


def pair_logits(logits: np.ndarray, types: int, longest: int) -> np.ndarray:
    """The logits `(words, longest, types)` of spans that begin at a word and have 1, 2 ... `longest` words; minus
    infinity for those beyond the last word: the head's `pair_scores` in numpy. `logits` `(words, 2 * types + 2 * KEYS)`
    are the head's.
    """
    words = len(logits)
    begin, end, starts, ends = np.split(logits, [types, 2 * types, 2 * types + KEYS], axis=1)
    starts, ends = (rotated(side, angles(words), np) for side in (starts, ends))
    pairs = np.full((words, longest, types), -np.inf, dtype=np.float32)
    for behind in range(min(longest, words)):
        near = words - behind
        product = (starts[:near] * ends[behind:]).sum(-1, keepdims=True) / np.sqrt(KEYS)
        pairs[:near, behind] = begin[:near] + end[behind:] + product
    return pairs
