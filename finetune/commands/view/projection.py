"""Vectors in two dimensions, and how far apart meanings are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SAME = 1e-6  # vectors that differ by less are one point


@dataclass(frozen=True, kw_only=True)
class Projection:
    """Points `(n, 2)` on the two principal components, and the share of the variance that each explains.

    `silhouette` (-1 to 1) and `neighbours` (the share of vectors whose nearest one by cosine has the same meaning) are
    of the vectors themselves, not of the points; None where there is one meaning, or one point.
    """

    points: np.ndarray
    explained: tuple[float, float]
    silhouette: float | None = None
    neighbours: float | None = None


def project(vectors: np.ndarray, meanings: Sequence[str | None]) -> Projection:
    """The projection of vectors `(n, width)`, with n of at least 2; those without a meaning (None) are not judged."""
    centred = vectors - vectors.mean(0)
    if np.abs(centred).max() < SAME:
        return Projection(points=np.zeros((len(vectors), 2)), explained=(0.0, 0.0))
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    shares = sizes**2 / (sizes**2).sum()
    known = [index for index, meaning in enumerate(meanings) if meaning is not None]
    silhouette, neighbours = _apart(vectors[known], np.array([str(meanings[index]) for index in known]))
    return Projection(
        points=left[:, :2] * sizes[:2],
        explained=(float(shares[0]), float(shares[1])),
        silhouette=silhouette,
        neighbours=neighbours,
    )


def cosines(vectors: np.ndarray) -> np.ndarray:
    """Cosine of each pair of vectors `(n, width)`: `(n, n)`."""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found: np.ndarray = units @ units.T
    return found


def _apart(vectors: np.ndarray, meanings: np.ndarray) -> tuple[float | None, float | None]:
    names, counts = np.unique(meanings, return_counts=True)
    if len(names) < 2 or counts.min() < 2:
        return None, None
    close = cosines(vectors)
    np.fill_diagonal(close, -np.inf)
    neighbours = float((meanings[close.argmax(1)] == meanings).mean())
    np.fill_diagonal(close, 1)
    apart = 1 - close
    to_each = np.stack([apart[:, meanings == name].sum(1) for name in names], axis=1)
    own = names.searchsorted(meanings)
    rows = np.arange(len(meanings))
    inside = to_each[rows, own] / (counts[own] - 1)
    means = to_each / counts
    means[rows, own] = np.inf
    outside = means.min(1)
    return float(((outside - inside) / np.maximum(outside, inside)).mean()), neighbours
