"""Overlapping windows over a long text, and the one in which each token has most context (original BERT code)."""

import numpy as np


def window_starts(tokens: int, *, size: int, step: int) -> range:
    """Starts of windows of `size` tokens, `step` apart, up to the first that reaches the end."""
    return range(0, max(1, tokens - size + step), step)


def most_context(places: np.ndarray, starts: range, *, tokens: int, size: int) -> np.ndarray:
    """For each token position the index of the window with the longest context on its shorter side: `(tokens,)`.

    A hundredth of the window's length is added, so that ties go to the longer window, then to the first.
    """
    last = np.minimum(places // starts.step, len(starts) - 1)
    owner = last.copy()
    best = np.full(len(places), -np.inf)
    for back in range(-(-size // starts.step)):
        window = last - back
        start = window * starts.step
        end = np.minimum(start + size, tokens)
        context = np.minimum(places - start, end - 1 - places) + 0.01 * (end - start)
        better = (window >= 0) & (places < end) & (context >= best)
        owner, best = np.where(better, window, owner), np.where(better, context, best)
    return owner  # type: ignore[no-any-return]
