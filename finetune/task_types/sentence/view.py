"""Sentences and pairs in a report: one label, a number, or any number of labels."""

from collections import Counter
from itertools import chain

import numpy as np

from finetune.metrics.scores import label_scores, label_set_scores
from finetune.task_types.marked_text import Part, plain
from finetune.task_types.view import ClassScore, Line, View, most_probable


def text_parts(line: Line) -> list[Part]:
    """One text or two."""
    return [plain(name, line[name]) for name in ("text", "pair") if line.get(name) is not None]


def text_lengths(lines: list[Line]) -> np.ndarray:
    """Characters of the text, or of both together."""
    return np.array([len(line["text"]) + len(line.get("pair") or "") for line in lines])


class LabelView(View):
    """One label a row."""

    softmax = True

    @staticmethod
    def fits(line: Line) -> bool:
        """A text and a label's name."""
        return "text" in line and isinstance(line["gold"], str)

    def scores(self) -> np.ndarray:
        """1 for the gold label."""
        return np.array([line["gold"] == line["answer"] for line in self.lines], float)

    def lengths(self) -> np.ndarray:
        """Characters."""
        return text_lengths(list(self.lines))

    def parts(self, line: Line) -> list[Part]:
        """The texts."""
        return text_parts(line)

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The answer's probability."""
        return most_probable(self)

    def chances(self) -> tuple[list[list[float]], list[int]] | None:
        """None also where it is not known which probability is whose."""
        if self.decisions() is None:
            return None
        places = {label: place for place, label in enumerate(self.labels)} or self._answered_places()
        if not all(line["gold"] in places for line in self.lines):
            return None
        return [line["probabilities"] for line in self.lines], [places[line["gold"]] for line in self.lines]

    def classes(self) -> list[ClassScore]:
        """The labels in their order, or that of the alphabet."""
        gold, answers = [line["gold"] for line in self.lines], [line["answer"] for line in self.lines]
        there, given = Counter(gold), Counter(answers)
        right = Counter(a for a, b in zip(gold, answers, strict=True) if a == b)
        names = list(self.labels) if {*there, *given} <= set(self.labels) else sorted({*there, *given})
        return [
            ClassScore(
                name=name, precision=p, recall=r, f1=f, gold=there[name], answered=given[name], right=right[name]
            )
            for name, (p, r, f) in label_scores(gold, answers, names).items()
        ]

    def pairs(self) -> list[tuple[str, str]]:
        """A row each."""
        return [(line["gold"], line["answer"]) for line in self.lines]

    def _answered_places(self) -> dict[str, int]:
        """Where each label's probability stands, from the answers, which are the most probable."""
        return {line["answer"]: int(np.argmax(line["probabilities"])) for line in self.lines}


class NumberView(View):
    """Regression: a row's score is how far the answer is off."""

    measure = "mean absolute error"
    bounded = False

    @staticmethod
    def fits(line: Line) -> bool:
        """A text and a number."""
        return "text" in line and isinstance(line["gold"], int | float)

    def scores(self) -> np.ndarray:
        """The absolute error."""
        off: np.ndarray = np.abs(self.values("answer") - self.values("gold"))
        return off

    def lengths(self) -> np.ndarray:
        """Characters."""
        return text_lengths(list(self.lines))

    def parts(self, line: Line) -> list[Part]:
        """The texts."""
        return text_parts(line)

    def certainty(self) -> np.ndarray:
        """The larger the error, the further up a row stands."""
        return self.scores()

    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels and predictions."""
        return self.values("gold"), self.values("answer")

    def says(self, value: object) -> str:
        """Three digits behind the point."""
        return f"{value:.3f}"

    def values(self, name: str) -> np.ndarray:
        """Golds or answers `(rows,)`."""
        return np.array([line[name] for line in self.lines], float)


class LabelsView(View):
    """Any number of labels a row; each is a decision of its own."""

    measure = "share of rows with exactly the right labels"
    decision = "labels of rows"

    @staticmethod
    def fits(line: Line) -> bool:
        """A text and a list."""
        return "text" in line and isinstance(line["gold"], list)

    def scores(self) -> np.ndarray:
        """1 for the gold labels, all of them and no other."""
        return np.array([set(line["gold"]) == set(line["answer"]) for line in self.lines], float)

    def lengths(self) -> np.ndarray:
        """Characters."""
        return text_lengths(list(self.lines))

    def parts(self, line: Line) -> list[Part]:
        """The texts."""
        return text_parts(line)

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Each label's probability, and whether the row has it."""
        found = self._matrices()
        return None if found is None else (found[0].ravel(), found[1].ravel())

    def certainty(self) -> np.ndarray:
        """That of the surest wrong label."""
        found = self._matrices()
        if found is None:
            return super().certainty()
        chances, gold, answered = found
        wrong: np.ndarray = np.where(gold == answered, -np.inf, np.where(answered, chances, 1 - chances))
        return wrong.max(axis=1)  # type: ignore[no-any-return]

    def classes(self) -> list[ClassScore]:
        """Each label."""
        gold, answers = [line["gold"] for line in self.lines], [line["answer"] for line in self.lines]
        there, given = Counter(chain(*gold)), Counter(chain(*answers))
        right = Counter(label for a, b in zip(gold, answers, strict=True) for label in set(a) & set(b))
        names = list(self.labels) or sorted({*there, *given})
        return [
            ClassScore(
                name=name, precision=p, recall=r, f1=f, gold=there[name], answered=given[name], right=right[name]
            )
            for name, (p, r, f) in label_set_scores(gold, answers, names).items()
        ]

    def says(self, value: object) -> str:
        """The labels' names."""
        return ", ".join(value) or "none"  # type: ignore[arg-type]

    def _matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Probabilities, gold and answers `(rows, labels)`; None where probabilities or their names are not known."""
        if not self.lines or len(self.lines[0].get("probabilities") or ()) != len(self.labels) or not self.labels:
            return None
        chances = np.array([line["probabilities"] for line in self.lines], float)
        gold, answered = (
            np.array([[label in line[name] for label in self.labels] for line in self.lines])
            for name in ("gold", "answer")
        )
        return chances, gold, answered
