"""Scores of pairs of a start and an end from the logits of single words: the head's `pair_scores` in numpy."""

import numpy as np

KEYS = 64  # numbers in the vector of a word as a start, and in that as an end
BASE = 10_000.0  # of the angles' wave lengths, as in RoFormer


def angles(words: int) -> np.ndarray:
    """The angles of rotary positions `(words, KEYS / 2)` (Su et al. 2021, RoFormer, equation 15)."""
    return np.arange(words)[:, None] * BASE ** (-np.arange(0, KEYS, 2) / KEYS)


def pair_logits(logits: np.ndarray, types: int, longest: int) -> np.ndarray:
    """The logits `(words, longest, types)` of spans that begin at a word and have 1, 2 ... `longest` words; minus
    infinity for those beyond the last word. `logits` `(words, 2 * types + 2 * KEYS)` are the head's.
    """
    words = len(logits)
    found = np.full((words, longest, types), -np.inf, dtype=np.float32)
    begin, end = logits[:, :types], logits[:, types : 2 * types]
    start_keys, end_keys = _rotated(logits[:, 2 * types : -KEYS]), _rotated(logits[:, -KEYS:])
    for behind in range(min(longest, words)):
        pairs = (start_keys[: words - behind] * end_keys[behind:]).sum(-1, keepdims=True) / np.sqrt(KEYS)
        found[: words - behind, behind] = begin[: words - behind] + end[behind:] + pairs
    return found


def _rotated(vectors: np.ndarray) -> np.ndarray:
    """Vectors `(words, KEYS)`, each rotated by the position of its word."""
    turns = angles(len(vectors))
    first, second = vectors[:, : KEYS // 2], vectors[:, KEYS // 2 :]
    sin, cos = np.sin(turns), np.cos(turns)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=1)
