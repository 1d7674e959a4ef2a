"""View: the predictions of one split as a report shows them, for any task type, and the claims that they make.

A claim is a part of a prediction that can be right, wrong or left out by itself, with its confidence: the label of a
row, one of several predicted labels, a predicted entity, an answer or a choice.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from finetune.runs.seeds import CONSTANT
from finetune.task_types.marked_text import TextPart

if TYPE_CHECKING:
    from finetune.task_types.task import Task
Line = dict[str, Any]
NOT_FIELDS = ("gold", "prediction", "probabilities")  # of a line


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


@dataclass(frozen=True, kw_only=True)
class ClassScore:
    """One label or type: its scores, and its counts of true, predicted and right."""

    name: str
    precision: float
    recall: float
    f1: float
    gold: int
    answered: int
    right: int


@dataclass(frozen=True, kw_only=True)
class Beliefs:
    """The probability that the model gives to each label: `chances`, the `rows` that they are of, the `classes` of the
    labels, and where a row has several their `places` in it; `(labels,)` each.
    """

    chances: np.ndarray
    rows: np.ndarray
    classes: Sequence[str]
    places: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class View(ABC):
    """The lines of a split that have a label; `labels` are the names of the probabilities, empty if unknown.

    `order` are labels from lowest to highest.

    A row's score is 1 where its prediction is right; `measure` names the score. A decision is what has a separate
    confidence: a row, a word, a label of a row.
    """

    lines: Sequence[Line]
    labels: Sequence[str] = ()
    order: Sequence[str] = ()
    measure = "accuracy"
    length_in = "characters"
    decision = "rows"
    claimed = "rows"  # what a prediction may leave out as unsure
    several = False  # whether a row may have several labels
    softmax = False  # whether probabilities are one distribution a row, so that a temperature can be fitted
    square = True  # whether labels and predictions are of the same classes
    bounded = True  # whether scores lie between 0 and 1
    annotated = True  # whether somebody gave the labels, so that one may be wrong
    sorted_by = "confidence"  # the name of `certainty`
    legend = ""  # a sentence on what is marked in the texts
    names_in_scores = False  # whether the record's scores name the probabilities, where no model is available

    def for_task(self, _: "Task") -> Self:
        """The view of lines that a task's model predicted; the same unless the task has scores of its own."""
        return self

    @staticmethod
    @abstractmethod
    def shows(line: Line) -> bool:
        """Whether a line of predictions is of this type."""

    @abstractmethod
    def scores(self) -> np.ndarray:
        """`(rows,)`"""

    @abstractmethod
    def lengths(self) -> np.ndarray:
        """`(rows,)`"""

    @abstractmethod
    def parts(self, line: Line) -> list[TextPart]:
        """A row's texts, with what can be marked in them."""

    def wrong(self) -> np.ndarray:
        """Whether the answer of each row is wrong `(rows,)`; numbers are neither right nor wrong."""
        return self.scores() < 1 if self.bounded else np.zeros(len(self.lines), bool)

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(confidence, whether it is right), each `(decisions,)`; None without probabilities."""
        return None

    def claims(self, line: Line) -> list[Claim]:
        """What a row's prediction claims, each with a confidence; none where there is no probability."""
        return []

    def without(self, line: Line, unsure: Sequence[Claim]) -> Any:
        """The prediction without claims that are left out, where it has others; None where a row is one claim."""
        return None

    def candidates(self, line: Line) -> list[SetCandidate]:
        """What a set of labels may hold for a row; none where the probabilities of other labels are unknown."""
        return []

    def certainty(self) -> np.ndarray:
        """The confidence of each row's most confident error `(rows,)`, minus infinity where there is none."""
        found = self.decisions()
        if found is None:
            return np.where(self.scores() < 1, 0.0, -np.inf)
        confidence, right = found
        return np.where(right, -np.inf, confidence)

    def chances(self) -> tuple[list[list[float]], list[int]] | None:
        """(probabilities, index of the right one) per row, for temperature scaling; None if they are not a softmax."""
        return None

    def beliefs(self) -> Beliefs | None:
        """The probability of each row's label; None where only the prediction's is known."""
        found = self.chances()
        if found is None:
            return None
        chances = np.array([each[gold] for each, gold in zip(*found, strict=True)])
        names = [self.row_pairs(line)[0][0] for line in self.lines]
        return Beliefs(chances=chances, rows=np.arange(len(self.lines)), classes=names)

    def doubt(self, line: Line, place: int) -> dict[str, Any]:
        """Of a row with several labels the one at a place, and what the model predicts there, in words."""
        return {}

    def numbers(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(labels, predictions), each `(rows,)`, where they are numbers."""
        return None

    def classes(self) -> list[ClassScore]:
        """The scores of each label or type."""
        return []

    def row_pairs(self, line: Line) -> list[tuple[str, str]]:
        """The (label, prediction) pairs of one row, by which rows can be found."""
        return []

    def pairs(self) -> list[tuple[str, str]]:
        """The (label, prediction) pairs that a confusion matrix counts."""
        return [pair for line in self.lines for pair in self.row_pairs(line)]

    def facts(self, line: Line) -> list[str]:
        """What is shown with a row's label and prediction, in words."""
        return []

    def says(self, value: Any) -> str:
        """A label or a prediction in words."""
        return str(value)

    def verdict(self, line: Line) -> tuple[str, str]:
        """The label and the prediction of a row, in words."""
        return self.says(line["gold"]), self.says(line["prediction"])

    def fields(self, line: Line) -> dict[str, Any]:
        """The row's texts and other facts, as a table of predictions in the terminal has them."""
        return {key: value for key, value in line.items() if key not in NOT_FIELDS and ":" not in key}

    def listed(self, line: Line, name: str) -> Any:
        """The label (`gold`) or the `prediction` in that table."""
        return line[name]

    def confidence(self, line: Line) -> Any:
        """The confidence of the prediction in that table, or of each label by its name; None where it is not known."""
        given = line.get("probabilities")
        return max(given) if given and self.softmax else None

    def by_label(self, line: Line) -> dict[str, float]:
        """The probability of each label by its name; empty where a probability is not that of a label of the row, or
        the names are unknown.
        """
        return {}

    def agreeing(self, line: Line) -> list[str]:
        """The baselines that make the same prediction, except constant ones."""
        names = [
            key.removeprefix("baseline:") for key, value in line.items() if _agrees(key, value, line["prediction"])
        ]
        return [name for name in names if name not in CONSTANT]


def most_probable(view: View) -> tuple[np.ndarray, np.ndarray] | None:
    """The decisions of a type with one choice of several: the prediction's probability, and whether it is right."""
    if not view.lines or not view.lines[0].get("probabilities"):
        return None
    return np.array([max(line["probabilities"]) for line in view.lines]), view.scores() == 1


def with_labels(lines: Sequence[Line]) -> list[Line]:
    """The lines with a label and a prediction."""
    return [line for line in lines if line["gold"] is not None and line["prediction"] is not None]


def _agrees(key: str, value: Any, answer: Any) -> bool:
    return key.startswith("baseline:") and bool(value == answer)
