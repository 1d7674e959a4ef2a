"""Sequences of unequal lengths as one array."""

from collections.abc import Sequence

import numpy as np

from finetune.models.feature import Ids


def padded(rows: Sequence[Ids], value: int, *, dtype: type[np.number] = np.int64, length: int = 0) -> np.ndarray:
    """Rows as an array `(rows, length)`, with `value` behind each; of at least `length`, or of the longest row."""
    out = np.full((len(rows), max(length, *map(len, rows))), value, dtype=dtype)
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return out
