"""Which measures of new rows differ from those of the reference: a test each, corrected for their number."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finetune.inference.shift.measures import Measures
from finetune.inference.shift.reference import Reference
from finetune.metrics.significance import holm
from finetune.metrics.two_sample import NO_SPREAD, PERMUTATIONS, energy_test

LEVEL = 0.05  # share of alarms where nothing has changed
NEIGHBOURS = 5  # old rows to which a new one's distance is measured
ENOUGH = 20  # rows, below which a test finds little


@dataclass(frozen=True, kw_only=True)
class Tested:
    """What was measured, the energy distance of old and new rows, its p value, and that corrected by Holm's method."""

    name: str
    distance: float
    p: float
    corrected: float


def shift_tests(old: Measures, new: Measures, *, permutations: int = PERMUTATIONS) -> list[Tested]:
    """A test for each measure that both have and that varies."""
    names = [name for name in old if name in new and np.concatenate([old[name], new[name]]).std(0).max() > 0]
    found = [energy_test(old[name], new[name], permutations=permutations) for name in names]
    corrected = holm([one.p for one in found])
    return [
        Tested(name=name, distance=one.distance, p=one.p, corrected=p)
        for name, one, p in zip(names, found, corrected, strict=True)
    ]


def compared_to(reference: Reference) -> Measures:
    """What new rows are compared to: of texts the training rows, if the dev rows look like these, else the dev rows."""
    alike = all(one.corrected > LEVEL for one in shift_tests(reference.train, reference.dev, permutations=199))
    return {**reference.dev, **(reference.train if alike else {})}


def distances(old: NDArray[np.floating], new: NDArray[np.floating]) -> NDArray[np.float64]:
    """How far each new row is from its nearest old ones, `(new rows,)`; 1 is the mean of an old row to the others.

    Scaled by the old rows alone, of which a mean of 1 for rows drawn alike remains; with the directions of
    `whitened`, those in which only the new rows differ would count as little as any other.
    """
    middle, spread = old.mean(0, dtype=np.float64), np.maximum(old.std(0, dtype=np.float64), NO_SPREAD)
    ours, theirs = (old - middle) / spread, (new - middle) / spread
    usual = _nearest(ours, ours, skip=1).mean()
    return np.asarray(_nearest(ours, theirs, skip=0) / max(usual, NO_SPREAD))


def _nearest(old: NDArray[np.float64], new: NDArray[np.float64], *, skip: int) -> NDArray[np.float64]:
    """The mean distance of each new row to the nearest old ones, after the first `skip`."""
    squares = (new * new).sum(1)[:, None] + (old * old).sum(1)[None] - 2 * new @ old.T
    nearest = np.sort(np.sqrt(np.maximum(squares, 0)), 1)[:, skip : skip + NEIGHBOURS]
    return np.asarray(nearest.mean(1)) if nearest.shape[1] else np.ones(len(new))
