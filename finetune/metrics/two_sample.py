"""A two-sample test: whether the rows of two samples are drawn alike."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PERMUTATIONS = 999
DIRECTIONS = 50  # of wide rows: those in which both samples together vary most
ROWS_A_DIRECTION = 10  # with fewer, all rows are about as far from each other
NO_SPREAD = 1e-9


@dataclass(frozen=True, kw_only=True)
class EnergyTest:
    """The energy distance of two samples, and p: how often it would be as large if both were drawn alike."""

    distance: float
    p: float


def energy_test(
    old: NDArray[np.floating], new: NDArray[np.floating], *, permutations: int = PERMUTATIONS, seed: int = 0
) -> EnergyTest:
    """Tests two samples `(rows, numbers)` by their energy distance (Szekely and Rizzo 2004), with permutations.

    Numbers are scaled, and directions chosen, on both samples together, which no permutation changes: p holds for
    samples of any size and distribution.
    """
    rows = whitened(np.concatenate([old, new]).astype(np.float64)).astype(np.float32)
    if not rows.shape[1]:
        return EnergyTest(distance=0.0, p=1.0)
    weights = np.full(len(rows), -1 / len(new), np.float32)
    weights[: len(old)] = 1 / len(old)
    drawn = np.random.default_rng(seed)
    orders = np.stack([weights, *(drawn.permutation(weights) for _ in range(permutations))])
    found = -np.einsum("pr,pr->p", orders @ _distances(rows), orders)
    larger = int((found[1:] >= found[0] * (1 - 1e-5)).sum())
    return EnergyTest(distance=float(found[0]), p=(1 + larger) / (1 + permutations))


def whitened(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows whose numbers have mean 0 and spread 1, without those that do not vary; of wide rows their main directions,
    also with spread 1, so that a change in a narrow one counts as much.
    """
    spread = rows.std(0)
    varies = spread > NO_SPREAD
    found = np.asarray((rows[:, varies] - rows[:, varies].mean(0)) / spread[varies])
    if found.shape[1] <= DIRECTIONS:
        return found
    values, directions = np.linalg.eigh(found.T @ found / len(found))
    kept = min(DIRECTIONS, max(1, len(found) // ROWS_A_DIRECTION))
    kept = int((values[-kept:] > NO_SPREAD).sum())
    return np.asarray(found @ directions[:, -kept:] / np.sqrt(values[-kept:]))


def _distances(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Euclidean distances between all rows, `(rows, rows)`."""
    squares = (rows * rows).sum(1)
    found = squares[:, None] + squares[None] - 2 * (rows @ rows.T)
    np.fill_diagonal(found, 0)
    return np.asarray(np.sqrt(np.maximum(found, 0, out=found), out=found))
