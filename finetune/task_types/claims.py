"""Claims: the parts of a prediction that can be right, wrong or left out each by itself, with their confidence.

A claim is the label of a row, one of several predicted labels, a predicted entity, an answer or a choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is claimed (`label`, empty where it is of no closed set), how sure, and whether it is right.

    `place` finds it in the prediction: the index of a label, the first word of an entity and the one after the last.
    """

    label: str
    confidence: float
    right: bool
    place: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCandidate:
    """What a set of labels may hold: its name, its probability, and whether it is a label of the row."""

    name: Any
    chance: float
    right: bool


@dataclass(frozen=True, kw_only=True)
class DevClaims:
    """What is kept of dev predictions with a model, without texts: `(claims,)` lists, and for label sets by row.

    `rows` counts dev rows, and `row` says of which each claim is. `sets` has for each row the probabilities of its own
    labels, `errors` those of numbers. `chosen` is what dev chose of the model, and `known` why the model knows some of
    its rows, in words.
    """

    split: str
    rows: int
    row: Sequence[int]
    label: Sequence[str]
    confidence: Sequence[float]
    right: Sequence[bool]
    sets: Sequence[Sequence[float]] = ()
    errors: Sequence[float] = ()
    chosen: str = ""
    known: str = ""

    def arrays(self, label: str | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(confidence, whether right, row) of the claims, or of those of one label."""
        kept = [label in (None, each) for each in self.label]
        return (np.array(self.confidence, float)[kept], np.array(self.right, bool)[kept], np.array(self.row, int)[kept])

    def as_json(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)


def claims_from(saved: Mapping[str, Any]) -> DevClaims:
    """What `as_json` gave. Raises TypeError for anything else."""
    return DevClaims(**saved)
