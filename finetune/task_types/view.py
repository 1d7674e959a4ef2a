"""View: what a report asks of the predictions of one split, whatever their shape."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finetune.runs.seeds import CONSTANT
from finetune.task_types.marked_text import Part

Line = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ClassScore:
    """One label or type: its scores, and how often gold and model have it and both agree."""

    name: str
    precision: float
    recall: float
    f1: float
    gold: int
    answered: int
    right: int


@dataclass(frozen=True, kw_only=True)
class View(ABC):
    """The lines of a split that have a gold; `labels` are the names of the probabilities, none where not known.

    A row's score is 1 where its answer is right; `measure` says what it is. A decision is what has a confidence of
    its own: a row, a word, a label of a row.
    """

    lines: Sequence[Line]
    labels: Sequence[str] = ()
    measure = "accuracy"
    length_in = "characters"
    decision = "rows"
    softmax = False  # whether probabilities are one distribution a row, so that a temperature can be fitted
    square = True  # whether gold and answers are of the same classes
    bounded = True  # whether scores lie between 0 and 1
    names_in_scores = False  # whether the record's scores name the probabilities, where the model is not there to

    @staticmethod
    @abstractmethod
    def fits(line: Line) -> bool:
        """Whether a line of predictions is of this shape."""

    @abstractmethod
    def scores(self) -> np.ndarray:
        """`(rows,)`"""

    @abstractmethod
    def lengths(self) -> np.ndarray:
        """`(rows,)`"""

    @abstractmethod
    def parts(self, line: Line) -> list[Part]:
        """A row's texts, with what can be marked in them."""

    def wrong(self) -> np.ndarray:
        """Whether the answer of each row is wrong `(rows,)`; numbers are neither right nor wrong."""
        return self.scores() < 1 if self.bounded else np.zeros(len(self.lines), bool)

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(confidence, whether it is right), each `(decisions,)`; None without probabilities."""
        return None

    def certainty(self) -> np.ndarray:
        """How sure the model is of the surest mistake of each row `(rows,)`, minus infinity where it makes none."""
        found = self.decisions()
        if found is None:
            return np.where(self.scores() < 1, 0.0, -np.inf)
        confidence, right = found
        return np.where(right, -np.inf, confidence)

    def chances(self) -> tuple[list[list[float]], list[int]] | None:
        """(probabilities, number of the right one) a row, for a temperature; None where they are not a softmax."""
        return None

    def numbers(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(labels, predictions), each `(rows,)`, where they are numbers."""
        return None

    def classes(self) -> list[ClassScore]:
        """Scores by label or type."""
        return []

    def pairs(self) -> list[tuple[str, str]]:
        """(gold, answer) of what a confusion matrix counts."""
        return []

    def says(self, value: Any) -> str:
        """A gold or an answer in words."""
        return str(value)

    def verdict(self, line: Line) -> tuple[str, str]:
        """What the gold and what the model says of a row, in words."""
        return self.says(line["gold"]), self.says(line["answer"])

    def agreeing(self, line: Line) -> list[str]:
        """The baselines that give the same answer, but for those that give one answer to all rows."""
        names = [key.removeprefix("baseline:") for key, value in line.items() if _agrees(key, value, line["answer"])]
        return [name for name in names if name not in CONSTANT]


def most_probable(view: View) -> tuple[np.ndarray, np.ndarray] | None:
    """Decisions of a shape with one answer out of several: the answer's probability, and whether it is right."""
    if not view.lines or not view.lines[0].get("probabilities"):
        return None
    return np.array([max(line["probabilities"]) for line in view.lines]), view.scores() == 1


def _agrees(key: str, value: Any, answer: Any) -> bool:
    return key.startswith("baseline:") and bool(value == answer)
