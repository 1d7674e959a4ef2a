"""Sentences and pairs in a report: one label, or a number."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from finetune.metrics.scores import label_scores
from finetune.task_types.text_inputs.view import RowTextView, probabilities_by_label
from finetune.task_types.view import Claim, ClassScore, Line, SetCandidate, most_probable

if TYPE_CHECKING:
    from finetune.task_types.task import Task


class LabelView(RowTextView):
    """One label per row."""

    softmax = True

    @staticmethod
    def shows(line: Line) -> bool:
        return "text" in line and isinstance(line["gold"], str)

    def scores(self) -> np.ndarray:
        """1 where the right label was predicted."""
        return np.array([line["gold"] == line["prediction"] for line in self.lines], float)

    def by_label(self, line: Line) -> dict[str, float]:
        return probabilities_by_label(self.labels, line)

    def for_task(self, task: "Task") -> Self:
        """With the order of a task's labels, in which probabilities of steps are."""
        order, ordinal = getattr(task, "order", ()), getattr(task, "ordinal", False)
        return replace(self, order=order, labels=order if ordinal else self.labels) if order else self

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The probability of the prediction; of ordered labels that is not always the highest."""
        found = most_probable(self)
        if found is None or not self._of_order():
            return found
        return np.array([self.confidence(line) for line in self.lines]), found[1]

    def confidence(self, line: Line) -> Any:
        """The probability of the prediction."""
        if not self._of_order() or not line.get("probabilities"):
            return super().confidence(line)
        return line["probabilities"][list(self.labels).index(line["prediction"])]

    def facts(self, line: Line) -> list[str]:
        """How many steps a wrong prediction is off, of ordered labels."""
        places = {label: place for place, label in enumerate(self.order)}
        gold, answer = (places.get(line[name]) for name in ("gold", "prediction"))
        return [] if gold is None or answer is None or gold == answer else [f"off by {answer - gold:+d}"]

    def _of_order(self) -> bool:
        """Whether all predictions are ordered labels whose probabilities are known by name."""
        answers = {line["prediction"] for line in self.lines}
        return bool(self.order) and answers <= {*self.labels}

    def claims(self, line: Line) -> list[Claim]:
        """The label."""
        if not line.get("probabilities"):
            return []
        chance = self.by_label(line).get(line["prediction"], max(line["probabilities"]))
        return [Claim(label=str(line["prediction"]), confidence=chance, right=line["gold"] == line["prediction"])]

    def candidates(self, line: Line) -> list[SetCandidate]:
        return [
            SetCandidate(name=name, chance=chance, right=name == line["gold"])
            for name, chance in probabilities_by_label(self.labels, line).items()
        ]

    def chances(self) -> tuple[list[list[float]], list[int]] | None:
        """As for `View`; also None where the labels of the probabilities are unknown."""
        if self.decisions() is None:
            return None
        places = {label: place for place, label in enumerate(self.labels)} or self._answered_places()
        if not all(line["gold"] in places for line in self.lines):
            return None
        return [line["probabilities"] for line in self.lines], [places[line["gold"]] for line in self.lines]

    def classes(self) -> list[ClassScore]:
        """Scores of each label, in the task's order, else alphabetically."""
        gold, answers = [line["gold"] for line in self.lines], [line["prediction"] for line in self.lines]
        there, given = Counter(gold), Counter(answers)
        right = Counter(a for a, b in zip(gold, answers, strict=True) if a == b)
        names = list(self.labels) if {*there, *given} <= set(self.labels) else sorted({*there, *given})
        return [
            ClassScore(
                name=name, precision=p, recall=r, f1=f, gold=there[name], answered=given[name], right=right[name]
            )
            for name, (p, r, f) in label_scores(gold, answers, names).items()
        ]

    def row_pairs(self, line: Line) -> list[tuple[str, str]]:
        return [(line["gold"], line["prediction"])]

    def _answered_places(self) -> dict[str, int]:
        """Each label's index among the probabilities, inferred from the predictions, which have the highest."""
        return {line["prediction"]: int(np.argmax(line["probabilities"])) for line in self.lines}


class NumberView(RowTextView):
    """Regression: a row's score is the absolute error of its prediction."""

    measure = "mean absolute error"
    bounded = False
    sorted_by = "error"

    @staticmethod
    def shows(line: Line) -> bool:
        return "text" in line and isinstance(line["gold"], int | float)

    def scores(self) -> np.ndarray:
        golds, answers = self.numbers()
        return np.abs(answers - golds)  # type: ignore[no-any-return]

    def certainty(self) -> np.ndarray:
        """The absolute errors, so that the largest are listed first."""
        return self.scores()

    def facts(self, line: Line) -> list[str]:
        """The absolute error."""
        return [f"off by {abs(line['prediction'] - line['gold']):.3f}"]

    def says(self, value: object) -> str:
        """Three decimals."""
        return f"{value:.3f}"

    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        golds, answers = (np.array([line[name] for line in self.lines], float) for name in ("gold", "prediction"))
        return golds, answers
